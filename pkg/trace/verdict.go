package trace

import (
	"encoding/json"
	"strings"
)

// Verdict says why a webhook, policy or binding takes part in a request, or doesn't.
type Verdict struct {
	Reason Reason `json:"reason"`
	// Field is the field that decides, in the configuration or policy: webhooks[0].rules[1].operations.
	Field string `json:"field,omitempty"`
	// Want is the value of the field, and Got the value of the request that was compared with it.
	Want string `json:"want,omitempty"`
	Got  string `json:"got,omitempty"`
	// By names the plugin, webhook or policy that is the cause, if it is another one.
	By string `json:"by,omitempty"`
	// Detail is the message of an error.
	Detail string `json:"detail,omitempty"`
	// Also are further fields that would have ruled the webhook out by themselves.
	Also []string `json:"also,omitempty"`
	// As is the resource by which a rule matched, if it isn't the request's: matchPolicy Equivalent.
	As *Resource `json:"as,omitempty"`
}

// Reason is the kind of cause of a verdict.
type Reason string

// Matched is the reason of a webhook that is called, or of a policy that is evaluated.
const Matched Reason = "Matched"

// Reasons of rules.
const (
	NoRules         Reason = "NoRules"
	RuleGroup       Reason = "RuleGroup"
	RuleVersion     Reason = "RuleVersion"
	RuleResource    Reason = "RuleResource"
	RuleSubresource Reason = "RuleSubresource"
	RuleName        Reason = "RuleName"
	RuleScope       Reason = "RuleScope"
	RuleOperation   Reason = "RuleOperation"
	RuleExcluded    Reason = "RuleExcluded"
	// MatchPolicyExact: with Equivalent, a rule would match by another version or group of the same objects.
	MatchPolicyExact Reason = "MatchPolicyExact"
)

// Reasons of selectors and match conditions.
const (
	NamespaceSelector Reason = "NamespaceSelector"
	ObjectSelector    Reason = "ObjectSelector"
	// ObjectSelectorChanged: the object of the request matched, and an earlier step has changed its labels.
	ObjectSelectorChanged Reason = "ObjectSelectorChanged"
	MatchConditionFalse   Reason = "MatchConditionFalse"
	// MatchConditionFailed: an expression failed, and the failurePolicy Ignore leaves the webhook out.
	MatchConditionFailed Reason = "MatchConditionFailed"
	// MatchConditionRefused: an expression failed, and the failurePolicy Fail refuses the request.
	MatchConditionRefused Reason = "MatchConditionRefused"
	// MatchConditionCost: the expressions exceed the cost that the server allows.
	MatchConditionCost Reason = "MatchConditionCost"
	// MatchFailed: the selectors couldn't be compared, and the request is refused.
	MatchFailed Reason = "MatchFailed"
	// ParamsMissing: a binding has no parameters, and its parameterNotFoundAction is Allow.
	ParamsMissing Reason = "ParamsMissing"
	NoBinding     Reason = "NoBinding"
	// PolicyFailed: a policy or a binding couldn't be compared or set up, and the failurePolicy decides.
	PolicyFailed Reason = "PolicyFailed"
)

// Reasons that lie in the request as a whole.
const (
	// ExemptConfiguration: objects that configure admission are never sent to webhooks and policies.
	ExemptConfiguration Reason = "ExemptConfiguration"
	// ExcludedReview: reviews of authentication and authorization are hidden from admission.
	ExcludedReview    Reason = "ExcludedReview"
	DryRunSideEffects Reason = "DryRunSideEffects"
	// ReinvocationNever and ReinvocationUnneeded are reasons of the second round.
	ReinvocationNever    Reason = "ReinvocationNever"
	ReinvocationUnneeded Reason = "ReinvocationUnneeded"
	// ReinvocationFirstMatch: the webhook matches in the second round for the first time.
	ReinvocationFirstMatch Reason = "ReinvocationFirstMatch"
	// RefusedEarlier: another step had refused the request.
	RefusedEarlier Reason = "RefusedEarlier"
	Invalid        Reason = "Invalid"
	TimedOut       Reason = "TimedOut"
	// Faulted: a fault answered the request before admission.
	Faulted Reason = "Faulted"
)

// Reasons of webhooks that a request never met.
const (
	PluginOff       Reason = "PluginOff"
	ConfiguredLater Reason = "ConfiguredLater"
	NotConfigured   Reason = "NotConfigured"
	NotRecorded     Reason = "NotRecorded"
)

// clauses are the words of the reasons. The parts in braces are the fields of the verdict.
var clauses = map[Reason]string{
	Matched:         "{field} matches",
	NoRules:         "{field} is empty, which matches nothing",
	RuleGroup:       "{field} is {want}, and the API group of the request is {got}",
	RuleVersion:     "{field} is {want}, and the API version of the request is {got}",
	RuleResource:    "{field} is {want}, and the resource of the request is {got}",
	RuleSubresource: "{field} is {want}, and the request is for {got}",
	RuleName:        "{field} is {want}, and the name of the object is {got}",
	RuleScope:       "{field} is {want}, and the resource of the request is {got}",
	RuleOperation:   "{field} is {want}, and the operation is {got}",
	RuleExcluded:    "{field} excludes the request",

	MatchPolicyExact: "{field} is Exact, and the rules name {want}, while the request is for {got}, which has the same objects",

	NamespaceSelector:     "{field} requires {want}, and {got}",
	ObjectSelector:        "{field} requires {want}, and {got}",
	ObjectSelectorChanged: "{field} requires {want}, which the object of the request met, but {by} changed its labels: {got}",
	MatchConditionFalse:   "{field} is false: {want}",
	MatchConditionFailed:  "{field} failed, and failurePolicy is Ignore: {detail}",
	MatchConditionRefused: "{field} failed, and failurePolicy is Fail, so the request was refused: {detail}",
	MatchConditionCost:    "{field} cost more than the server allows, and failurePolicy is {want}: {detail}",
	MatchFailed:           "it couldn't be matched, so the request was refused: {detail}",
	ParamsMissing:         "{field} finds no parameters, and parameterNotFoundAction is Allow",
	NoBinding:             "the policy has no binding",
	PolicyFailed:          "it couldn't be set up, and failurePolicy is {want}: {detail}",

	ExemptConfiguration:    "webhooks and policies are never asked about {got}, which configures admission itself",
	ExcludedReview:         "the server hides {got}, a review of authentication or authorization, from admission",
	DryRunSideEffects:      "the request is a dry run, and {field} is {want}: only webhooks with None or NoneOnDryRun are called",
	ReinvocationNever:      "{field} is Never, so the second round doesn't call it again",
	ReinvocationUnneeded:   "nothing had changed the object since its call in the first round",
	ReinvocationFirstMatch: "it matched in the second round for the first time, and that round calls only webhooks of the first one",
	RefusedEarlier:         "{by} had refused the request: {detail}",
	Invalid:                "the object is invalid, which is found out before validating webhooks: {detail}",
	TimedOut:               "the request had ended before its turn came: {detail}",
	Faulted:                "{by} ended the request before admission: {detail}",

	PluginOff:       "admission plugin {by} is off",
	ConfiguredLater: "it was configured after the request",
	NotConfigured:   "there is no such webhook",
	NotRecorded:     "no request for the object is recorded, and there is no such object to try: {detail}",
}

// MarshalJSON implements json.Marshaler. It adds the reason in words.
func (v Verdict) MarshalJSON() ([]byte, error) {
	type plain Verdict
	return json.Marshal(struct {
		plain
		Text string `json:"text"`
	}{plain(v), v.Clause()})
}

// Clause returns the reason in words, without a full stop.
func (v Verdict) Clause() string {
	clause, ok := clauses[v.Reason]
	if !ok {
		return string(v.Reason)
	}
	if v.Reason == Matched && v.Field == "" {
		return "it matches"
	}
	text := strings.NewReplacer("{field}", v.Field, "{want}", v.Want, "{got}", v.Got, "{by}", v.By, "{detail}", v.Detail).Replace(clause)
	if v.Reason == Matched && v.As != nil {
		text += " as " + v.As.String()
	}
	if len(v.Also) > 0 {
		text += " (" + strings.Join(v.Also, ", ") + " would rule it out too)"
	}
	return text
}
