// Package explain says why a webhook, a policy or a binding matches a request, or which field of the webhook, policy or
// binding rules the request out.
//
// k8s.io/apiserver decides whether rules and selectors match, and gives no reason. So this package calls the same
// predicates again, with one part of a rule or one selector at a time. An explanation costs more than the decision:
// use the package only for recorded requests and for users' questions. Match conditions are evaluated in the packages
// webhook and policy, which have the compiled expressions.
package explain

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	namespaces "k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/namespace"
	objects "k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/object"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// Explainer has k8s.io/apiserver's predicates for selectors.
type Explainer struct {
	Namespaces namespaces.Matcher
	Objects    objects.Matcher
}

// Matching is a request, and the constraints to compare it with.
type Matching struct {
	Constraints
	// Path is the path of the constraints in their object, such as webhooks[0].
	Path       string
	Attributes admission.Attributes
	Interfaces admission.ObjectInterfaces
	// Earlier returns the states that the request's object has had so far. If Earlier is nil, no verdict has the reason
	// ObjectSelectorChanged.
	Earlier func() []recorder.Object
}

// Explain returns the verdict about the constraints. If the constraints match, it also returns how they match;
// otherwise the Match is nil.
//
// Several parts of the constraints may rule the request out. The order of the parts is: rules, excludeResourceRules,
// namespaceSelector, objectSelector. The verdict is about the first part that rules the request out. The others are in
// Verdict.Also.
func (e *Explainer) Explain(m Matching) (trace.Verdict, *Match) {
	matched, verdicts := m.Rules()
	if excluded := m.exclusion(); excluded != nil {
		verdicts = append(verdicts, *excluded)
	}
	var failed []trace.Verdict
	for _, part := range []func(Matching) *trace.Verdict{e.namespaceSelector, e.objectSelector} {
		switch verdict := part(m); {
		case verdict == nil:
		case verdict.Reason == trace.MatchFailed:
			failed = append(failed, *verdict)
		default:
			verdicts = append(verdicts, *verdict)
		}
	}
	// A selector that can't be evaluated refuses the request, but only if no other part of the constraints rules the
	// request out.
	if len(verdicts) == 0 {
		verdicts = failed
	}
	if len(verdicts) == 0 {
		return matched.Verdict(), &matched
	}
	verdict := verdicts[0]
	for _, also := range verdicts[1:] {
		verdict.Also = append(verdict.Also, also.Field)
	}
	return verdict, nil
}

// Match says how a request matches constraints.
type Match struct {
	// Field is the path of the rule that matches. Constraints without rules may match every request: Field is then the
	// path of the constraints.
	Field    string
	Resource schema.GroupVersionResource
	Kind     schema.GroupVersionKind
	// As is the equivalent of the request's resource that the rule matches. It is nil if the rule matches the request's
	// own resource.
	As *trace.Resource
}

// Verdict returns the verdict that the constraints match.
func (m Match) Verdict() trace.Verdict {
	return trace.Verdict{Reason: trace.Matched, Field: m.Field, As: m.As}
}
