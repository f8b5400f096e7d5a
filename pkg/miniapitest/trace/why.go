package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Answer says whether a webhook was called for a request, or a policy was evaluated, and why.
type Answer struct {
	// Webhook names the webhook, or the policy and its binding.
	Webhook Reference `json:"webhook"`
	// Called is true if the webhook was called, or the policy's validations or mutations were evaluated for the binding.
	// For a dry run that only evaluates the request, it is also true if the webhook would have been called.
	Called  bool    `json:"called"`
	Verdict Verdict `json:"verdict"`
	// Again says why the second round of mutating plugins didn't call the webhook, or didn't evaluate the policy. It
	// is nil if there was no second round, or if the second round called the webhook or evaluated the policy.
	Again *Verdict `json:"again,omitempty"`
	// Sentence is the answer as a sentence.
	Sentence string `json:"sentence"`
	// Request is the id of the request. It is 0 for a request that isn't kept.
	Request int64 `json:"request,omitempty"`
	// Evaluated is true if the answer is about a dry run that only evaluates the request.
	Evaluated bool `json:"evaluated,omitempty"`
}

// Configured is the state of a webhook configuration or a policy on the server when the question is asked.
type Configured struct {
	// Webhooks are the names of the configuration's webhooks, or of the policy's bindings. A nil slice means that the
	// configuration or policy doesn't exist.
	Webhooks []string
	// Others are the names of the configurations or policies of the kind. They are set only if the configuration or
	// policy in question doesn't exist.
	Others []string
	// PluginOn is true if the admission plugin that calls these webhooks, or evaluates the policy, is enabled.
	PluginOn bool
}

// Why says for each webhook of a configuration whether it was called for a request, and why. If target names a single
// webhook, in its Part, there is one answer. If evaluated is true, the request was a dry run that only evaluates the request.
//
// For a policy, there is an answer for each binding, or one answer for the policy if its bindings don't matter. If
// target names a single binding, in its Part, there is one answer.
func Why(target Reference, configured Configured, request *Request, evaluated bool) []Answer {
	if target.isPolicy() {
		return whyPolicy(target, configured, request, evaluated)
	}
	names := configured.Webhooks
	if target.Part != "" {
		names = []string{target.Part}
	}
	if len(names) == 0 {
		names = request.webhooksOf(target)
	}
	if len(names) == 0 {
		return []Answer{answer(target, configured.missing(), request, evaluated)}
	}
	answers := make([]Answer, len(names))
	for i, name := range names {
		webhook := Reference{target.Kind, target.Name, name}
		if met, again := request.met(webhook); met != nil {
			answers[i] = answer(webhook, met.Verdict, request, evaluated)
			answers[i].Called = met.Call != nil || evaluated && met.Verdict.Reason == Matched
			answers[i].Again = again
			answers[i].Sentence = sentence(answers[i], met.Call.words(), request)
			continue
		}
		answers[i] = answer(webhook, request.unmet(webhook, configured), request, evaluated)
	}
	return answers
}

// NotRecordedFor returns the answer if no request for the object is recorded and the object isn't stored. detail is
// the reason, such as "no name is given".
func NotRecordedFor(target Reference, detail string) Answer {
	verdict := Verdict{Reason: NotRecorded, Detail: detail}
	return Answer{Webhook: target, Verdict: verdict, Sentence: fmt.Sprintf("%s: %s.", target, verdict.Clause())}
}

// webhooksOf returns the names of a configuration's webhooks that the request has a record of.
func (r *Request) webhooksOf(target Reference) []string {
	var names []string
	for _, w := range r.Webhooks() {
		if w.Kind == target.Kind && w.Name == target.Name && !slices.Contains(names, w.Part) {
			names = append(names, w.Part)
		}
	}
	return names
}

// met returns the record of a webhook from the last pass through admission, or nil. It is the last record with a call,
// or the first record if no record has a call. If the second round of mutating plugins ruled the webhook out, again is
// the verdict of that round; otherwise again is nil.
func (r *Request) met(webhook Reference) (met *Webhook, again *Verdict) {
	if len(r.Admissions) == 0 {
		return nil, nil
	}
	var first, called, last *Webhook
	for _, step := range r.Admissions[len(r.Admissions)-1].Steps {
		for _, w := range step.Webhooks {
			if w.Reference != webhook {
				continue
			}
			if first == nil {
				first = w
			}
			if w.Call != nil {
				called = w
			}
			last = w
		}
	}
	if last != first && last.Call == nil && last.Verdict.Reason != Matched {
		again = &last.Verdict
	}
	return cmp.Or(called, first), again
}

// unmet says why a request has no record of a webhook.
func (r *Request) unmet(webhook Reference, configured Configured) Verdict {
	plugin := PluginOf(webhook.Kind)
	exists := slices.Contains(configured.Webhooks, webhook.Part) || webhook.Part == "" && configured.Webhooks != nil
	switch {
	case !configured.PluginOn:
		return Verdict{Reason: PluginOff, By: plugin}
	case len(r.Admissions) == 0 && !exists:
		return configured.missing()
	case r.Forbidden:
		return Verdict{Reason: Forbidden, Detail: r.errorText()}
	case len(r.Admissions) == 0 && len(r.Faults) > 0:
		return Verdict{Reason: Faulted, By: r.Faults[len(r.Faults)-1].String(), Detail: r.errorText()}
	case len(r.Admissions) == 0:
		return Verdict{Reason: RefusedEarlier, By: "the server", Detail: r.errorText()}
	}
	last := r.Admissions[len(r.Admissions)-1]
	for _, step := range last.Steps {
		if step.Plugin != plugin {
			continue
		}
		if step.Exempt != nil {
			return *step.Exempt
		}
		if exists {
			return Verdict{Reason: ConfiguredLater}
		}
		return configured.missing()
	}
	switch {
	case !exists:
		return configured.missing()
	case plugin == MutatingPolicy && last.Operation == "DELETE":
		return Verdict{Reason: NoDeletion}
	case last.Refused != nil:
		return Verdict{Reason: RefusedEarlier, By: last.Refused.noun(), Detail: last.Refused.Error.Message}
	case last.Validation != nil && last.Validation.Error != nil:
		return Verdict{Reason: Invalid, Detail: last.Validation.Error.Message}
	}
	return Verdict{Reason: TimedOut, Detail: r.errorText()}
}

// missing returns the verdict about a configuration or policy that doesn't exist, or about a webhook or binding that it
// doesn't have. Got lists the names that exist, so that a user finds a name that is misspelt.
func (c Configured) missing() Verdict {
	verdict, names := Verdict{Reason: NotConfigured}, c.Others
	if c.Webhooks != nil {
		names = c.Webhooks
	}
	if len(names) > 0 {
		verdict.Got = "there is " + strings.Join(names, ", ")
	}
	return verdict
}

// Reads reports whether the request is a read, or isn't for a resource. Such requests don't reach admission, so the
// recorder keeps one only if a fault was injected into it.
func (r *Request) Reads() bool {
	switch r.Verb {
	case "get", "list", "watch":
		return len(r.Admissions) == 0
	}
	return r.Path != ""
}

func (r *Request) errorText() string {
	if r.Error != nil {
		return r.Error.Message
	}
	if r.Code == 0 {
		return "the request has no response"
	}
	return fmt.Sprintf("the response has the status %d", r.Code)
}

func answer(webhook Reference, verdict Verdict, request *Request, evaluated bool) Answer {
	a := Answer{Webhook: webhook, Verdict: verdict, Request: request.ID, Evaluated: evaluated}
	a.Sentence = sentence(a, "", request)
	return a
}

// sentence returns an answer as a sentence. effect, which may be empty, describes the effect of the webhook or policy.
func sentence(a Answer, effect string, request *Request) string {
	verb := map[bool]map[bool]string{
		true:  {true: "would be %s", false: "would not be %s"},
		false: {true: "was %s", false: "was not %s"},
	}[a.Evaluated][a.Called]
	participle, infinitive := "called", "call"
	if a.Webhook.isPolicy() {
		participle, infinitive = "evaluated", "evaluate"
	}
	text := fmt.Sprintf("%s "+verb+" for %s: %s", a.Webhook, participle, request.Subject(), a.Verdict.Clause())
	if effect != "" {
		text += ", and " + effect
	}
	text = strings.TrimSuffix(text, ".")
	if a.Again != nil {
		text += ". The second round didn't " + infinitive + " it: " + strings.TrimSuffix(a.Again.Clause(), ".")
	}
	return text + "."
}

// words describes the outcome of a call, the fault that the server injected into the call, and what is known about a
// failure. It returns "" for no call.
func (c *Call) words() string {
	if c == nil {
		return ""
	}
	text := c.outcome()
	if c.Fault != nil {
		text = strings.TrimSuffix(text, ".") + ": the server injected " + c.Fault.String()
	}
	return strings.Join(append([]string{strings.TrimSuffix(text, ".")}, c.failure()...), ". ")
}

func (c *Call) outcome() string {
	switch {
	case c.Error == nil:
		return "it " + c.Outcome + " the request" + c.Lost.words()
	case c.Outcome == Denied:
		return "it denied the request: " + c.Error.Message
	case c.Outcome == FailedOpen:
		return "the call failed, which its failurePolicy Ignore lets pass: " + c.Error.Message
	case c.Error.Code == 0:
		return "the server couldn't use its answer, and refused the request, whatever its failurePolicy says: " + c.Error.Message
	}
	return "the call failed, so its failurePolicy refused the request: " + c.Error.Message
}

// Subject names a request, such as "CREATE of pods default/web by alice".
func (r *Request) Subject() string {
	operation, namespace, name := strings.ToUpper(r.Verb), r.Namespace, r.Name
	if len(r.Admissions) > 0 {
		last := r.Admissions[len(r.Admissions)-1]
		operation, namespace, name = last.Operation, cmp.Or(last.Namespace, namespace), cmp.Or(last.Name, name)
		if r.Verb == "deletecollection" && len(r.Admissions) > 1 {
			name = "" // each pass is for another object
		}
	}
	object := name
	switch {
	case namespace == "" || r.Resource.Resource == "namespaces":
	case name == "":
		object = "in namespace " + namespace
	default:
		object = namespace + "/" + name
	}
	if r.Path != "" {
		return fmt.Sprintf("%s of %s by %s", operation, r.Path, r.User.Name)
	}
	dry := ""
	if r.DryRun {
		dry = " as a dry run"
	}
	return strings.TrimSpace(fmt.Sprintf("%s of %s %s", operation, r.Resource, object)) + " by " + r.User.Name + dry
}
