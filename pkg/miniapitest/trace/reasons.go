package trace

// Reason is a short name for the cause of a verdict.
type Reason string

// Matched is the reason for a webhook that is called, or a policy that is evaluated.
const Matched Reason = "Matched"

// Reasons that come from the rules of a webhook or policy.
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
	// MatchPolicyExact: no rule matches the request's own version and group, and matchPolicy is Exact. With
	// matchPolicy Equivalent, a rule would match another version or group of the same objects.
	MatchPolicyExact Reason = "MatchPolicyExact"
)

// Reasons that come from selectors, match conditions, and the bindings of policies with their parameters.
const (
	NamespaceSelector Reason = "NamespaceSelector"
	ObjectSelector    Reason = "ObjectSelector"
	// ObjectSelectorChanged: the objectSelector matched the object of the request, but an earlier step has changed
	// the labels.
	ObjectSelectorChanged Reason = "ObjectSelectorChanged"
	MatchConditionFalse   Reason = "MatchConditionFalse"
	// MatchConditionFailed: an expression failed. The failurePolicy is Ignore, so the webhook isn't called, or the policy
	// isn't evaluated.
	MatchConditionFailed Reason = "MatchConditionFailed"
	// MatchConditionRefused: an expression failed. The failurePolicy is Fail, so the request is refused.
	MatchConditionRefused Reason = "MatchConditionRefused"
	// MatchConditionCost: the expressions exceed the server's limit on the cost of CEL.
	MatchConditionCost Reason = "MatchConditionCost"
	// MatchFailed: a selector couldn't be evaluated, or the object couldn't be converted for the webhook. The request is
	// refused, whatever the failurePolicy.
	MatchFailed Reason = "MatchFailed"
	// ParamsMissing: a binding selects no parameter object, and its parameterNotFoundAction is Allow.
	ParamsMissing Reason = "ParamsMissing"
	NoBinding     Reason = "NoBinding"
	// ParamsRequired: a binding selects no parameter object, and its parameterNotFoundAction is Deny.
	ParamsRequired Reason = "ParamsRequired"
	// PolicyFailed: a policy or a binding couldn't be compared with the request, or its parameters couldn't be read. The
	// failurePolicy decides about the request.
	PolicyFailed Reason = "PolicyFailed"
)

// Reasons that come from the evaluation of a policy.
const (
	// ValidationFalse: a validation is false, and a binding with the action Deny refuses the request.
	ValidationFalse Reason = "ValidationFalse"
	// ValidationReported: a validation is false, and the binding only warns or audits.
	ValidationReported Reason = "ValidationReported"
	// ExpressionFailed: an expression or a mutation failed. The failurePolicy is Fail, so the request is refused.
	ExpressionFailed Reason = "ExpressionFailed"
	// ExpressionIgnored: an expression or a mutation failed. The failurePolicy is Ignore, so the failure has no
	// effect on the request.
	ExpressionIgnored Reason = "ExpressionIgnored"
	// ExpressionReported: an expression failed, and the binding only warns or audits.
	ExpressionReported Reason = "ExpressionReported"
	// NoDeletion: mutating policies aren't evaluated for deletions.
	NoDeletion Reason = "NoDeletion"
)

// Reasons that come from the request as a whole.
const (
	// ExemptConfiguration: requests for the objects that configure admission don't go to webhooks and policies.
	ExemptConfiguration Reason = "ExemptConfiguration"
	// ExcludedReview: requests for reviews of authentication and authorization, such as TokenReview, don't go to
	// webhooks and policies.
	ExcludedReview    Reason = "ExcludedReview"
	DryRunSideEffects Reason = "DryRunSideEffects"
	// ReinvocationNever and ReinvocationUnneeded are reasons why the second round of mutating plugins didn't call
	// a webhook or evaluate a policy.
	ReinvocationNever    Reason = "ReinvocationNever"
	ReinvocationUnneeded Reason = "ReinvocationUnneeded"
	// ReinvocationFirstMatch: the webhook didn't match in the first round of mutating plugins, and matches in the
	// second.
	ReinvocationFirstMatch Reason = "ReinvocationFirstMatch"
	// RefusedEarlier: a plugin, another webhook or another policy had refused the request before the turn of the webhook
	// or policy, or the server had refused it before admission.
	RefusedEarlier Reason = "RefusedEarlier"
	Invalid        Reason = "Invalid"
	TimedOut       Reason = "TimedOut"
	// Faulted: a fault was injected into the request, and the server answered with the fault before admission.
	Faulted Reason = "Faulted"
	// Forbidden: authorization refused the request, or would refuse it.
	Forbidden Reason = "Forbidden"
)

// Reasons why the recorder has no record of the webhook or policy for the request.
const (
	PluginOff       Reason = "PluginOff"
	ConfiguredLater Reason = "ConfiguredLater"
	NotConfigured   Reason = "NotConfigured"
	NotRecorded     Reason = "NotRecorded"
)

// clauses are the reasons in words. The names in braces are replaced by fields of the verdict.
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
	ParamsRequired:        "{field} is Deny, and paramRef finds no parameters; failurePolicy is {want}: {detail}",
	NoBinding:             "the policy has no binding",
	PolicyFailed:          "it couldn't be set up, and failurePolicy is {want}: {detail}",

	ValidationFalse:    "{field} is false: {want}{where}, and validationActions has Deny, so the request was refused: {detail}",
	ValidationReported: "{field} is false: {want}{where}, but validationActions is {by}, which refuses nothing: {detail}",
	ExpressionFailed:   "{field} failed, and failurePolicy is {want}, so the request was refused: {detail}",
	ExpressionIgnored:  "{field} failed, and failurePolicy is {want}: {detail}",
	ExpressionReported: "{field} failed, but validationActions is {want}, which refuses nothing: {detail}",
	NoDeletion:         "the operation is DELETE, and a deletion has no object that mutating policies could change",

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
	Forbidden:              "authorization refuses the request before admission: {detail}",

	PluginOff:       "admission plugin {by} is off",
	ConfiguredLater: "it was configured after the request",
	NotConfigured:   "there is no such webhook or policy{where}",
	NotRecorded:     "no request for the object is recorded, and there is no such object to try: {detail}",
}
