package trace

import (
	"cmp"
	"fmt"
	"strings"
)

// Kinds of configurations, and the plugins that call their webhooks.
const (
	MutatingConfiguration   = "MutatingWebhookConfiguration"
	ValidatingConfiguration = "ValidatingWebhookConfiguration"
	MutatingPlugin          = "MutatingAdmissionWebhook"
	ValidatingPlugin        = "ValidatingAdmissionWebhook"
)

// Kinds of policies, which are also the names of their plugins.
const (
	MutatingPolicy   = "MutatingAdmissionPolicy"
	ValidatingPolicy = "ValidatingAdmissionPolicy"
)

// Answer says whether a webhook was called for a request, and why.
type Answer struct {
	Webhook Reference `json:"webhook"`
	// Called says that the webhook was called, or would be.
	Called  bool    `json:"called"`
	Verdict Verdict `json:"verdict"`
	// Again says why the second round didn't call the webhook; nil without a second round, or if it did.
	Again *Verdict `json:"again,omitempty"`
	// Sentence is the answer for people.
	Sentence string `json:"sentence"`
	// Request is the id of the request, or 0 for one that wasn't recorded.
	Request int64 `json:"request,omitempty"`
	// Evaluated says that the answer is about a request that wasn't made.
	Evaluated bool `json:"evaluated,omitempty"`
}

// Configured is what a server has of a configuration of webhooks at the moment of the question.
type Configured struct {
	// Webhooks are the names of the configuration's webhooks. A nil slice stands for no such configuration.
	Webhooks []string
	// PluginOn says that the plugin runs that calls the webhooks.
	PluginOn bool
}

// Why answers why the webhooks of a configuration were called for a request, or weren't: one answer a webhook. If the
// reference has a part, the answer is about that webhook alone.
func Why(target Reference, configured Configured, request *Request, evaluated bool) []Answer {
	names := configured.Webhooks
	if target.Part != "" {
		names = []string{target.Part}
	}
	if len(names) == 0 {
		names = request.webhooksOf(target)
	}
	if len(names) == 0 {
		return []Answer{answer(target, Verdict{Reason: NotConfigured}, request, evaluated)}
	}
	answers := make([]Answer, len(names))
	for i, name := range names {
		webhook := Reference{target.Kind, target.Name, name}
		if met, again := request.met(webhook); met != nil {
			answers[i] = answer(webhook, met.Verdict, request, evaluated)
			answers[i].Called = met.Call != nil || evaluated && met.Verdict.Reason == Matched
			answers[i].Again = again
			answers[i].Sentence = sentence(answers[i], met.Call, request)
			continue
		}
		answers[i] = answer(webhook, request.unmet(webhook, configured), request, evaluated)
	}
	return answers
}

// NotRecordedFor answers about an object of which there is neither a recorded request nor a stored one; the detail says
// so in words.
func NotRecordedFor(target Reference, detail string) Answer {
	verdict := Verdict{Reason: NotRecorded, Detail: detail}
	return Answer{Webhook: target, Verdict: verdict, Sentence: fmt.Sprintf("%s: %s.", target, verdict.Clause())}
}

// webhooksOf returns the names of a configuration's webhooks that the request met.
func (r *Request) webhooksOf(target Reference) []string {
	var names []string
	seen := map[string]bool{}
	r.webhooks(func(w *Webhook) {
		if w.Kind == target.Kind && w.Name == target.Name && !seen[w.Part] {
			seen[w.Part] = true
			names = append(names, w.Part)
		}
	})
	return names
}

func (r *Request) webhooks(each func(*Webhook)) {
	for _, a := range r.Admissions {
		for _, s := range a.Steps {
			for _, w := range s.Webhooks {
				each(w)
			}
		}
	}
}

// met returns what happened to a webhook in the last pass: its last call, or else its first verdict. again is the verdict
// of a second round that didn't call the webhook, or nil.
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
	if last != first && last.Call == nil {
		again = &last.Verdict
	}
	return cmp.Or(called, first), again
}

// unmet says why a request didn't meet a webhook.
func (r *Request) unmet(webhook Reference, configured Configured) Verdict {
	plugin := PluginOf(webhook.Kind)
	exists := false
	for _, name := range configured.Webhooks {
		exists = exists || name == webhook.Part
	}
	switch {
	case !configured.PluginOn:
		return Verdict{Reason: PluginOff, By: plugin}
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
		return Verdict{Reason: NotConfigured}
	}
	switch {
	case !exists:
		return Verdict{Reason: NotConfigured}
	case last.Refused != nil:
		return Verdict{Reason: RefusedEarlier, By: last.Refused.by(), Detail: last.Refused.Error.Message}
	case last.Validation != nil && last.Validation.Error != nil:
		return Verdict{Reason: Invalid, Detail: last.Validation.Error.Message}
	}
	return Verdict{Reason: TimedOut, Detail: r.errorText()}
}

// Reads says that the request is a read, which never reaches admission. It is recorded because it met a fault.
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

// by names the refusing part.
func (r *Refusal) by() string {
	switch {
	case r.Webhook != nil:
		return "webhook " + r.Webhook.String()
	case r.Policy != nil:
		return r.Policy.String()
	}
	return "admission plugin " + r.Plugin
}

// PluginOf returns the plugin that calls the webhooks of a kind of configuration.
func PluginOf(kind string) string {
	if kind == MutatingConfiguration {
		return MutatingPlugin
	}
	return ValidatingPlugin
}

func answer(webhook Reference, verdict Verdict, request *Request, evaluated bool) Answer {
	a := Answer{Webhook: webhook, Verdict: verdict, Request: request.ID, Evaluated: evaluated}
	a.Sentence = sentence(a, nil, request)
	return a
}

// sentence puts an answer into words.
func sentence(a Answer, call *Call, request *Request) string {
	verb := map[bool]map[bool]string{
		true:  {true: "would be called", false: "would not be called"},
		false: {true: "was called", false: "was not called"},
	}[a.Evaluated][a.Called]
	text := fmt.Sprintf("%s %s for %s: %s", a.Webhook, verb, request.Subject(), a.Verdict.Clause())
	if call != nil {
		text += ", and " + call.words()
		if call.Fault != nil {
			text = strings.TrimSuffix(text, ".") + ": the server injected " + call.Fault.String()
		}
	}
	text = strings.TrimSuffix(text, ".")
	if a.Again != nil {
		text += ". The second round didn't call it: " + strings.TrimSuffix(a.Again.Clause(), ".")
	}
	return text + "."
}

// words describes the result of a call.
func (c *Call) words() string {
	switch {
	case c.Error == nil:
		return "it " + c.Outcome + " the request"
	case c.Outcome == Denied:
		return "it denied the request: " + c.Error.Message
	case c.Outcome == FailedOpen:
		return "the call failed, which its failurePolicy Ignore lets pass: " + c.Error.Message
	}
	return "the call failed, so its failurePolicy refused the request: " + c.Error.Message
}

// Subject names a request: CREATE of pods default/web by alice.
func (r *Request) Subject() string {
	operation, namespace, name := strings.ToUpper(r.Verb), r.Namespace, r.Name
	if len(r.Admissions) > 0 {
		last := r.Admissions[len(r.Admissions)-1]
		operation, namespace, name = last.Operation, cmp.Or(last.Namespace, namespace), cmp.Or(last.Name, name)
	}
	object := name
	if namespace != "" && r.Resource.Resource != "namespaces" {
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
