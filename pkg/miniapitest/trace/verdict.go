package trace

import (
	"encoding/json"
	"strings"
)

// Verdict says why a webhook, policy or binding applied to a request, or why it didn't.
type Verdict struct {
	Reason Reason `json:"reason"`
	// Field is the path of the field that decided, in the webhook configuration or policy, such as
	// webhooks[0].rules[1].operations.
	Field string `json:"field,omitempty"`
	// Want is the value that Field has in the webhook configuration or policy. If something failed, Want is the
	// failurePolicy or the validationActions that decide about the failure. For MatchPolicyExact, it is the resource that
	// a rule names. Got is the value of the request that was compared with Want. For ValidationFalse and
	// ValidationReported, it has the values of variables and the name of the parameter object. For NotConfigured, it
	// has the names that exist.
	Want string `json:"want,omitempty"`
	Got  string `json:"got,omitempty"`
	// By names the cause of the verdict if the cause is outside of the webhook or policy: a plugin, another webhook or
	// policy, a fault, or the server. For ValidationReported, it is the validationActions of the binding.
	By string `json:"by,omitempty"`
	// Detail is a text with more about the reason, such as the message of an error.
	Detail string `json:"detail,omitempty"`
	// Also lists the other fields that would have ruled the webhook, policy or binding out. Each of them would have been
	// enough.
	Also []string `json:"also,omitempty"`
	// As is the resource by which a rule matched, if it isn't the request's own resource: with matchPolicy
	// Equivalent, a rule also matches other versions and groups of the same objects.
	As *Resource `json:"as,omitempty"`
}

// MarshalJSON implements json.Marshaler. It adds the field "text", the verdict in words.
func (v Verdict) MarshalJSON() ([]byte, error) {
	type plain Verdict
	return json.Marshal(struct {
		plain
		Text string `json:"text"`
	}{plain(v), v.Clause()})
}

// Refuses reports whether the server refuses the request because of the verdict, without a call of the webhook. There
// are four causes: a selector can't be evaluated, the object can't be converted for the webhook, a match condition can't
// be evaluated and failurePolicy is Fail, or the request is a dry run and the webhook has side effects.
func (v Verdict) Refuses() bool {
	switch v.Reason {
	case MatchFailed, MatchConditionRefused:
		return true
	case MatchConditionCost:
		return v.Want == "Fail"
	case DryRunSideEffects:
		return v.Detail != ""
	}
	return false
}

// Clause returns the verdict in words, as a part of a sentence.
func (v Verdict) Clause() string {
	clause, ok := clauses[v.Reason]
	if !ok {
		return string(v.Reason)
	}
	if v.Reason == Matched && v.Field == "" {
		return "it matches"
	}
	where := ""
	if v.Got != "" {
		where = " (" + v.Got + ")"
	}
	text := strings.NewReplacer("{field}", v.Field, "{want}", v.Want, "{got}", v.Got, "{where}", where, "{by}", v.By, "{detail}", v.Detail).Replace(clause)
	if v.Reason == Matched && v.As != nil {
		text += " as " + v.As.String()
	}
	if len(v.Also) > 0 {
		text += " (" + strings.Join(v.Also, ", ") + " would rule it out too)"
	}
	return text
}
