package recorder

import (
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// Steps records the steps of one phase of a pass, one after the other. Most plugins change nothing and refuse
// nothing. Their steps are kept in the short form brief. Each is converted to a Step when a caller reads the request
// from the recorder.
type Steps struct {
	scope *Scope
	phase string
	// now is the time at which the last step ended and the next step begins.
	now   trace.Duration
	brief []brief
}

// brief is a step of a plugin that changed nothing, refused nothing, and considered no webhook or policy.
type brief struct {
	plugin      string
	start, took trace.Duration
	// before is an index in Pass.Steps. This step comes after all steps with a smaller index, and before the step
	// with this index.
	before     int16
	round      int8
	validating bool
}

// stepsAtOnce is the capacity with which the list of short steps begins. A request in which the mutating plugins run
// once has about 28 short steps.
const stepsAtOnce = 28

// Steps begins to record a phase (Mutating or Validating) of the scope's pass through the admission chain.
func (s *Scope) Steps(phase string) *Steps {
	steps := &Steps{scope: s, phase: phase, now: s.Since(time.Now())}
	s.Update(func(*trace.Request) { steps.brief = s.Pass.brief })
	if steps.brief == nil {
		steps.brief = make([]brief, 0, stepsAtOnce)
	}
	return steps
}

// Add adds a Step of a plugin. The step begins at the end of the previous step. If the request has ended, Add returns
// the step without adding it.
func (s *Steps) Add(plugin string, round int) *trace.Step {
	step := &trace.Step{Plugin: plugin, Phase: s.phase, Round: round, Start: s.now}
	s.scope.Update(func(*trace.Request) {
		s.scope.Pass.brief = s.brief
		s.scope.Pass.Steps = append(s.scope.Pass.Steps, step)
	})
	return step
}

// End ends a step that Add has returned. If err isn't nil, the plugin has refused the request.
func (s *Steps) End(step *trace.Step, err *trace.Error) {
	took, hides := s.took(), s.scope.hides()
	s.scope.Update(func(*trace.Request) {
		step.Took, step.Error = took, err
		if hides { // not only in Finish, because a span of OpenTelemetry is made from the step right after End
			s.scope.redaction.step(step)
		}
		if err != nil {
			s.scope.Pass.refused(step)
		}
	})
}

// Pass records the step of a plugin that has just ended, and that changed and refused nothing. It keeps the step in the
// short form brief.
func (s *Steps) Pass(plugin string, round int) {
	start := s.now
	// Only the goroutine of the admission chain adds steps, and it also calls Pass. So Pass may read the number of steps
	// without the lock.
	s.brief = append(s.brief, brief{
		plugin: plugin, start: start, took: s.took(), before: int16(len(s.scope.Pass.Steps)),
		round: int8(round), validating: s.phase == trace.Validating,
	})
}

// took returns the duration of the current step, which ends at this call.
func (s *Steps) took() trace.Duration {
	last := s.now
	s.now = s.scope.Since(time.Now())
	return s.now - last
}

// Close ends the recording of the phase.
func (s *Steps) Close() {
	s.scope.Update(func(*trace.Request) { s.scope.Pass.brief = s.brief })
}

// whole converts a brief, the short form of a step, to a Step.
func (b *brief) whole() *trace.Step {
	phase := trace.Mutating
	if b.validating {
		phase = trace.Validating
	}
	return &trace.Step{Plugin: b.plugin, Phase: phase, Round: int(b.round), Start: b.start, Took: b.took}
}
