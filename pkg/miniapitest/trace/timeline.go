package trace

import (
	"fmt"
	"io"
	"strings"
)

// Detail is how much a timeline shows.
type Detail int

const (
	// Brief leaves out steps that changed nothing, refused nothing, considered no webhook or policy, and have no
	// Exempt.
	Brief Detail = iota
	// Wide shows all steps, the parts of each call's time, and the expressions of policies.
	Wide
)

// maxValue bounds the length of a value in a timeline. Longer values are cut.
const maxValue = 120

// WriteTimeline writes a text that shows a user what happened to a request, step by step.
func WriteTimeline(w io.Writer, request *Request, detail Detail) error {
	t := &timeline{detail: detail}
	t.request(request)
	_, err := io.WriteString(w, t.String())
	return err
}

// timeline collects the lines of the text.
type timeline struct {
	strings.Builder
	detail Detail
}

// line adds a line, indented by depth.
func (t *timeline) line(depth int, format string, args ...any) {
	text := strings.NewReplacer("\n", " ", "\t", " ").Replace(fmt.Sprintf(format, args...))
	fmt.Fprintf(t, "%s%s\n", strings.Repeat("  ", depth), text)
}

func (t *timeline) request(r *Request) {
	status := fmt.Sprint(r.Code)
	if r.Code == 0 {
		status = "no response"
	}
	t.line(0, "#%d %s %s -> %s in %s", r.ID, r.Received.Format("15:04:05.000"), r.Subject(), status, r.Took)
	if r.Error != nil && !r.refused() {
		t.line(1, "error: %s", r.Error.Message)
	}
	for _, fault := range r.Faults {
		t.line(1, "%s", faultLine(fault, "request"))
	}
	for i, admission := range r.Admissions {
		depth := 1
		if len(r.Admissions) > 1 {
			t.line(1, "pass %d: %s %s", i+1, admission.Operation, strings.TrimPrefix(admission.Namespace+"/"+admission.Name, "/"))
			depth = 2
		}
		t.admission(depth, admission)
	}
	if r.Stripped {
		t.line(1, "objects and reviews were too large to keep")
	}
}

// refused reports whether the timeline shows the error of the request in its last pass through the admission chain.
func (r *Request) refused() bool {
	if len(r.Admissions) == 0 {
		return false
	}
	last := r.Admissions[len(r.Admissions)-1]
	return last.Refused != nil || last.Validation != nil && last.Validation.Error != nil
}

func (t *timeline) admission(depth int, a *Admission) {
	validated := false
	for _, step := range a.Steps {
		if step.Phase == Validating && !validated {
			validated = true
			t.validation(depth, a.Validation)
		}
		t.step(depth, step)
		if step.Error != nil && a.Refused.byItself() {
			t.line(depth+1, "refused: %s", step.Error.Message)
		}
	}
	if !validated {
		t.validation(depth, a.Validation)
	}
	if changes := a.StoredChanges(); len(changes) > 0 {
		t.line(depth, "stored in %s, with differences from the admitted object", a.StoredVersion)
		t.changes(depth+1, changes)
	}
}

// byItself reports whether the plugin itself refused the request. Otherwise the line of the webhook or policy that refused
// has the error.
func (r *Refusal) byItself() bool { return r == nil || r.Webhook == nil && r.Policy == nil }

func (t *timeline) validation(depth int, v *Validation) {
	switch {
	case v == nil:
	case v.Error != nil:
		t.line(depth, "validation of the object: invalid: %s", v.Error.Message) // its duration is unknown
	case t.detail == Wide:
		t.line(depth, "validation of the object, %s: valid", v.Took)
	}
}

func (t *timeline) step(depth int, s *Step) {
	changes := Diff(s.Before, s.After)
	if t.detail == Brief && s.Error == nil && s.Exempt == nil && len(changes)+len(s.Webhooks)+len(s.Policies) == 0 {
		return
	}
	phase := s.Phase
	if s.Phase == Mutating {
		phase = fmt.Sprintf("%s, round %d", s.Phase, s.Round)
	}
	t.line(depth, "%s (%s), %s", s.Plugin, phase, s.Took)
	if s.Exempt != nil {
		t.line(depth+1, "did nothing: %s", s.Exempt.Clause())
	}
	for _, webhook := range s.Webhooks {
		t.webhook(depth+1, webhook)
	}
	for _, policy := range s.Policies {
		t.policy(depth+1, policy)
	}
	t.changes(depth+1, changes)
}

func (t *timeline) webhook(depth int, w *Webhook) {
	if w.Call == nil {
		word := "not called"
		if w.Verdict.Reason == Matched {
			word = "matches"
		}
		t.line(depth, "%s %s: %s", w.Reference, word, w.Verdict.Clause())
		return
	}
	t.line(depth, "%s called, %s: %s", w.Reference, w.Call.Took, w.Call.Outcome)
	if t.detail == Wide {
		t.line(depth+1, "%s", w.Verdict.Clause())
		t.line(depth+1, "%s, review %s %s: %s", w.Call.Address, w.Call.ReviewVersion, w.Call.UID, w.Call.Times)
	}
	if w.Call.Fault != nil {
		t.line(depth+1, "%s", faultLine(*w.Call.Fault, "call"))
	}
	if w.Call.Error != nil {
		t.line(depth+1, "%s", w.Call.Error.Message)
	}
	for _, fact := range w.Call.failure() {
		t.line(depth+1, "%s", fact)
	}
	for _, warning := range w.Call.Warnings {
		t.line(depth+1, "warning: %s", warning)
	}
	t.changes(depth+1, Diff(w.Call.Before, w.Call.After))
	if w.Call.Lost != nil {
		t.line(depth+1, "%s", w.Call.Lost)
	}
}

// String lists the parts of a call's time.
func (t Times) String() string {
	connection := "connection reused"
	if !t.Reused {
		connection = fmt.Sprintf("connect %s, TLS %s", t.Connect, t.TLS)
	}
	return fmt.Sprintf("%s, wait %s, decode %s", connection, t.Wait, t.Decode)
}

func (t *timeline) policy(depth int, p *Policy) {
	if p.Verdict.Reason != Matched {
		t.line(depth, "%s not evaluated: %s", p.Reference, p.Verdict.Clause())
		return
	}
	t.line(depth, "%s matches", p.Reference)
	for _, b := range p.Bindings {
		if b.Verdict.Reason != Matched {
			t.line(depth+1, "binding %s doesn't apply: %s", b.Name, b.Verdict.Clause())
			continue
		}
		if len(b.Evaluations) == 0 {
			t.line(depth+1, "binding %s applies", b.Name)
		}
		for _, e := range b.Evaluations {
			t.evaluation(depth+1, b, e)
		}
	}
}

func (t *timeline) evaluation(depth int, b *Binding, e *Evaluation) {
	binding := "binding " + b.Name
	if len(b.Actions) > 0 {
		binding += " (" + strings.Join(b.Actions, ", ") + ")"
	}
	if e.Param != nil {
		binding += " with " + e.Param.String()
	}
	if e.Outcome == "" {
		t.line(depth, "%s not evaluated: %s", binding, e.Verdict.Clause())
	} else {
		t.line(depth, "%s: %s", binding, e.Outcome)
	}
	if e.Error != "" {
		t.line(depth+1, "%s", e.Error)
	}
	for _, x := range e.Expressions {
		t.expression(depth+1, x)
	}
	t.changes(depth+1, Diff(e.Before, e.After))
	if e.Lost != nil {
		t.line(depth+1, "%s", e.Lost)
	}
}

// expression adds a line for an expression. A brief timeline shows only expressions that failed, and validations
// that are false.
func (t *timeline) expression(depth int, x *Expression) {
	if t.detail == Brief && x.Error == "" && x.Message == "" {
		return
	}
	value := x.Value
	if x.Error != "" {
		value = "error: " + x.Error
	}
	t.line(depth, "%s: %s = %s", x.Field, shortened(x.Expression), shortened(value))
	if t.detail == Wide {
		for _, part := range x.Parts {
			t.line(depth+1, "%s", part)
		}
	}
	if x.Message != "" {
		t.line(depth+1, "%s", x.Message)
	}
}

func (t *timeline) changes(depth int, changes []Change) {
	for _, change := range changes {
		change.Before, change.After = shortened(change.Before), shortened(change.After)
		t.line(depth, "%s", change)
	}
}

// shortened joins the lines of a value, and cuts the value if it is longer than maxValue.
func shortened(value string) string {
	value = strings.Join(strings.Fields(value), " ")
	if runes := []rune(value); len(runes) > maxValue {
		return string(runes[:maxValue]) + "…"
	}
	return value
}
