package trace

import "time"

// Steps records the steps of one phase of a pass, one after the other. Most plugins have nothing to tell. Their steps are
// kept in brief, and become whole steps when the request is read.
type Steps struct {
	scope *Scope
	phase string
	// now is the end of the last step, with which the next one begins.
	now   Duration
	brief []brief
}

// brief is a step without anything to tell.
type brief struct {
	plugin      string
	start, took Duration
	// before is the index of the whole step that follows.
	before     int16
	round      int8
	validating bool
}

// stepsAtOnce is about the number of steps of a request without a second round.
const stepsAtOnce = 28

// Steps begins a phase of the scope's admission, Mutating or Validating.
func (s *Scope) Steps(phase string) *Steps {
	steps := &Steps{scope: s, phase: phase, now: s.Since(time.Now())}
	s.Update(func(*Request) { steps.brief = s.Admission.brief })
	if steps.brief == nil {
		steps.brief = make([]brief, 0, stepsAtOnce)
	}
	return steps
}

// Add adds a step of a plugin that may have something to tell. It begins with the end of the last step. The step is
// dropped if the request has ended.
func (s *Steps) Add(plugin string, round int) *Step {
	step := &Step{Plugin: plugin, Phase: s.phase, Round: round, Start: s.now}
	s.scope.Update(func(*Request) {
		s.scope.Admission.brief = s.brief
		s.scope.Admission.Steps = append(s.scope.Admission.Steps, step)
	})
	return step
}

// End ends an added step. A non-nil error refuses the object.
func (s *Steps) End(step *Step, err *Error) {
	took, hides := s.took(), s.scope.hides()
	s.scope.Update(func(*Request) {
		step.Took, step.Error = took, err
		if hides { // the spans of OpenTelemetry are made from the step now
			s.scope.redaction.step(step)
		}
		if err != nil {
			s.scope.Admission.Refuse(step)
		}
	})
}

// Pass records the step of a plugin that had nothing to tell and has just ended.
func (s *Steps) Pass(plugin string, round int) {
	start := s.now
	// The goroutine of the chain alone adds steps, so it may read their number.
	s.brief = append(s.brief, brief{
		plugin: plugin, start: start, took: s.took(), before: int16(len(s.scope.Admission.Steps)),
		round: int8(round), validating: s.phase == Validating,
	})
}

// took returns the time since the end of the last step, and ends the current one.
func (s *Steps) took() Duration {
	last := s.now
	s.now = s.scope.Since(time.Now())
	return s.now - last
}

// Close ends the phase.
func (s *Steps) Close() {
	s.scope.Update(func(*Request) { s.scope.Admission.brief = s.brief })
}

// whole returns the step.
func (b *brief) whole() *Step {
	phase := Mutating
	if b.validating {
		phase = Validating
	}
	return &Step{Plugin: b.plugin, Phase: phase, Round: int(b.round), Start: b.start, Took: b.took}
}
