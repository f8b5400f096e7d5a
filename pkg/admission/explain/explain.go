// Package explain says why a webhook, a policy or a binding matches a request, or which field of the webhook, policy or
// binding rules the request out.
//
// k8s.io/apiserver decides whether they match, and gives no reason. So this package calls the same predicates
// again, with one part of the constraints at a time. An explanation costs more than the decision: use the package
// only for recorded requests and for users' questions. Match conditions are evaluated in the packages webhook and
// policy, which have the compiled expressions.
package explain

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	namespaces "k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/namespace"
	objects "k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/object"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"

	"github.com/miniapi-dev/miniapi/pkg/trace"
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
	Earlier func() []trace.Object
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
	// As is the resource that the rule names, if it is an equivalent of the request's resource; nil otherwise.
	As *trace.Resource
}

// Verdict returns the verdict that the constraints match.
func (m Match) Verdict() trace.Verdict {
	return trace.Verdict{Reason: trace.Matched, Field: m.Field, As: m.As}
}

// Rules compares the request with the rules, in k8s.io/apiserver's order: first as a request for its own resource,
// then for equivalent resources. It returns the match, or else the verdict that rules the request out.
func (m Matching) Rules() (Match, []trace.Verdict) {
	resource := m.Attributes.GetResource()
	if matched := m.matchedBy(m.rules, m.rule); matched != nil {
		return *matched, nil
	}
	if len(m.rules) == 0 {
		if m.anything {
			return Match{Field: m.Path, Resource: resource, Kind: m.Attributes.GetKind()}, nil
		}
		return Match{}, []trace.Verdict{{Reason: trace.NoRules, Field: m.Path + "." + m.rulesField}}
	}
	if equivalent, _ := m.equivalent(m.rules); equivalent != nil {
		subresource := m.Attributes.GetSubresource()
		return Match{}, []trace.Verdict{{
			Reason: trace.MatchPolicyExact, Field: m.Path + ".matchPolicy",
			Want: versioned(*equivalent, subresource), Got: versioned(resource, subresource),
		}}
	}
	// If no rule matches, the verdict is about the rule with the fewest differences, because the author most likely
	// meant that rule.
	closest, fewest := 0, differences(m.rules[0], m.Attributes)
	for i, rule := range m.rules[1:] {
		if different := differences(rule, m.Attributes); len(different) < len(fewest) {
			closest, fewest = i+1, different
		}
	}
	return Match{}, []trace.Verdict{fewest[0].verdict(m.rule(closest), m.rules[closest], m.Attributes)}
}

// matchedBy returns the match of the first matching rule, in k8s.io/apiserver's order. It returns nil if no rule
// matches. The function path returns the path of the rule with an index.
func (m Matching) matchedBy(all []rule, path func(int) string) *Match {
	for i, rule := range all {
		if matchesRule(rule, m.Attributes) {
			return &Match{path(i), m.Attributes.GetResource(), m.Attributes.GetKind(), nil}
		}
	}
	if m.matchPolicy == nil || *m.matchPolicy != admissionregistrationv1.Equivalent {
		return nil
	}
	resource, i := m.equivalent(all)
	if resource == nil {
		return nil
	}
	subresource := m.Attributes.GetSubresource()
	as := traceResource(*resource, subresource)
	return &Match{path(i), *resource, m.Interfaces.GetEquivalentResourceMapper().KindFor(*resource, subresource), &as}
}

// equivalent returns the equivalent resource that a rule matches, and the index of the rule. It returns nil if no
// rule matches an equivalent resource.
func (m Matching) equivalent(all []rule) (*schema.GroupVersionResource, int) {
	resource := m.Attributes.GetResource()
	equivalents := m.Interfaces.GetEquivalentResourceMapper().EquivalentResourcesFor(resource, m.Attributes.GetSubresource())
	for i, rule := range all {
		for _, equivalent := range equivalents {
			if equivalent != resource && matchesRule(rule, inResource{m.Attributes, equivalent}) {
				return &equivalent, i
			}
		}
	}
	return nil, 0
}

// exclusion returns the verdict if a rule of excludeResourceRules matches the request, and nil otherwise.
func (m Matching) exclusion() *trace.Verdict {
	excluded := m.matchedBy(m.excluded, func(i int) string { return fmt.Sprintf("%s.excludeResourceRules[%d]", m.Path, i) })
	if excluded == nil {
		return nil
	}
	return &trace.Verdict{Reason: trace.RuleExcluded, Field: excluded.Field, As: excluded.As}
}

func (m Matching) rule(i int) string {
	return m.Path + "." + m.rulesField + "[" + strconv.Itoa(i) + "]"
}

// inResource has the attributes of a request, with an equivalent resource in place of the request's resource.
type inResource struct {
	admission.Attributes
	resource schema.GroupVersionResource
}

func (a inResource) GetResource() schema.GroupVersionResource { return a.resource }

// rule is a rule of a webhook or a policy. Rules of policies may have resourceNames.
type rule = admissionregistrationv1.NamedRuleWithOperations

func matchesRule(r rule, a admission.Attributes) bool {
	matcher := rules.Matcher{Rule: r.RuleWithOperations, Attr: a}
	return matcher.Matches() && (len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, a.GetName()))
}

// part is one field of a rule, or a part of the field.
type part struct {
	reason trace.Reason
	// field is the name of the field in the rule.
	field string
	// alone copies this part from one rule to another, in which all other parts match every request.
	alone func(only *rule, from rule)
	want  func(rule) string
	got   func(admission.Attributes) string
}

// ruleParts are the parts of a rule. The verdict about a rule names the first part that doesn't match.
var ruleParts = []part{
	{
		trace.RuleGroup, "apiGroups",
		func(only *rule, from rule) {
			only.APIGroups = from.APIGroups
		},
		func(r rule) string { return list(r.APIGroups) },
		func(a admission.Attributes) string { return fmt.Sprintf("%q", a.GetResource().Group) },
	},
	{
		trace.RuleVersion, "apiVersions",
		func(only *rule, from rule) {
			only.APIVersions = from.APIVersions
		},
		func(r rule) string { return list(r.APIVersions) },
		func(a admission.Attributes) string { return a.GetResource().Version },
	},
	{
		trace.RuleResource, "resources",
		func(only *rule, from rule) {
			only.Resources = nil
			for _, resource := range from.Resources {
				name, _, _ := strings.Cut(resource, "/")
				only.Resources = append(only.Resources, name+"/*")
			}
		},
		func(r rule) string { return list(r.Resources) },
		func(a admission.Attributes) string { return a.GetResource().Resource },
	},
	{
		trace.RuleSubresource, "resources",
		func(only *rule, from rule) {
			only.Resources = from.Resources
		},
		func(r rule) string { return list(r.Resources) },
		func(a admission.Attributes) string {
			if a.GetSubresource() == "" {
				return a.GetResource().Resource + " itself"
			}
			return "subresource " + a.GetResource().Resource + "/" + a.GetSubresource()
		},
	},
	{
		trace.RuleScope, "scope",
		func(only *rule, from rule) {
			only.Scope = from.Scope
		},
		func(r rule) string { return string(*r.Scope) },
		func(a admission.Attributes) string {
			if a.GetNamespace() == "" || a.GetResource().Resource == "namespaces" {
				return "cluster-scoped"
			}
			return "namespaced"
		},
	},
	{
		trace.RuleOperation, "operations",
		func(only *rule, from rule) {
			only.Operations = from.Operations
		},
		func(r rule) string { return list(r.Operations) },
		func(a admission.Attributes) string { return string(a.GetOperation()) },
	},
	{
		trace.RuleName, "resourceNames",
		func(only *rule, from rule) {
			only.ResourceNames = from.ResourceNames
		},
		func(r rule) string { return list(r.ResourceNames) },
		func(a admission.Attributes) string { return fmt.Sprintf("%q", a.GetName()) },
	},
}

func (p part) verdict(path string, configured rule, a admission.Attributes) trace.Verdict {
	return trace.Verdict{Reason: p.reason, Field: path + "." + p.field, Want: p.want(configured), Got: p.got(a)}
}

// differences returns the parts of a rule that don't match.
func differences(r rule, a admission.Attributes) []part {
	var different []part
	for _, p := range ruleParts {
		alone := rule{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}},
		}}
		p.alone(&alone, r)
		if !matchesRule(alone, a) {
			different = append(different, p)
		}
	}
	return different
}

// namespaceSelector returns nil if the namespaceSelector matches, or else the verdict.
func (e *Explainer) namespaceSelector(m Matching) *trace.Verdict {
	field := m.Path + ".namespaceSelector"
	matches, err := e.Namespaces.MatchNamespaceSelector(m.Constraints, m.Attributes)
	if err != nil {
		return &trace.Verdict{Reason: trace.MatchFailed, Field: field, Detail: err.Error()}
	}
	if matches {
		return nil
	}
	// The error is impossible: the selector has just been compared with these labels.
	have, _ := e.Namespaces.GetNamespaceLabels(m.Attributes)
	key, requirement := unmet(m.namespaces, have)
	return &trace.Verdict{
		Reason: trace.NamespaceSelector, Field: field + requirement.field, Want: requirement.text,
		Got: fmt.Sprintf("namespace %q %s", m.Attributes.GetNamespace(), labelOf(have, key)),
	}
}

// objectSelector returns nil if the objectSelector matches, or else the verdict.
func (e *Explainer) objectSelector(m Matching) *trace.Verdict {
	field := m.Path + ".objectSelector"
	matches, err := e.Objects.MatchObjectSelector(m.Constraints, m.Attributes)
	if err != nil {
		return &trace.Verdict{Reason: trace.MatchFailed, Field: field, Detail: err.Error()}
	}
	if matches {
		return nil
	}
	have, described := m.object()
	key, requirement := unmet(m.objects, have)
	verdict := &trace.Verdict{Reason: trace.ObjectSelector, Field: field + requirement.field, Want: requirement.text, Got: described(key)}
	if by := m.changedBy(); by != "" {
		verdict.Reason, verdict.By = trace.ObjectSelectorChanged, by
	}
	return verdict
}

// object returns the labels of the request's object, or else of its old object, and a function that describes one label
// of the request's objects in words.
func (m Matching) object() (map[string]string, func(key string) string) {
	object, old := labelsOf(m.Attributes.GetObject()), labelsOf(m.Attributes.GetOldObject())
	switch {
	case object != nil && old != nil:
		return *object, func(key string) string {
			if described := labelOf(*old, key); described != labelOf(*object, key) {
				return "the object " + labelOf(*object, key) + " and the old object " + described
			}
			return "the object, before and after, " + labelOf(*object, key)
		}
	case object != nil:
		return *object, func(key string) string { return "the object " + labelOf(*object, key) }
	case old != nil:
		return *old, func(key string) string { return "the object " + labelOf(*old, key) }
	}
	return nil, func(string) string { return "the request has no object with labels" }
}

// changedBy returns the part of the chain that changed the object so that it no longer matches the objectSelector. It
// returns "" if the object never matched.
func (m Matching) changedBy() string {
	selector, err := m.GetParsedObjectSelector()
	if err != nil || m.Earlier == nil {
		return ""
	}
	by, matched := "", false
	for _, object := range m.Earlier() {
		if len(object.Content) == 0 {
			continue
		}
		matches := selector.Matches(labels.Set(trace.Labels(object.Content)))
		if matched && !matches {
			by = object.By
		}
		matched = matches
	}
	return by
}

// labelsOf returns the labels of an object. It returns nil if the object has no metadata.
func labelsOf(object runtime.Object) *map[string]string {
	if object == nil {
		return nil
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil
	}
	found := accessor.GetLabels()
	return &found
}

// requirement is one requirement of a label selector.
type requirement struct {
	// field is the path of the requirement in the selector. text is the requirement in kubectl's syntax, such as "a=b".
	field string
	text  string
}

// unmet returns the first requirement of the selector that the labels don't meet, and the key of its label.
func unmet(selector *metav1.LabelSelector, have map[string]string) (key string, _ requirement) {
	if selector == nil {
		return "", requirement{}
	}
	fails := func(part metav1.LabelSelector) (string, bool) {
		parsed, err := metav1.LabelSelectorAsSelector(&part)
		return metav1.FormatLabelSelector(&part), err == nil && !parsed.Matches(labels.Set(have))
	}
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		if text, failed := fails(metav1.LabelSelector{MatchLabels: map[string]string{key: selector.MatchLabels[key]}}); failed {
			return key, requirement{fmt.Sprintf(".matchLabels[%q]", key), text}
		}
	}
	for i, expression := range selector.MatchExpressions {
		if text, failed := fails(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{expression}}); failed {
			return expression.Key, requirement{fmt.Sprintf(".matchExpressions[%d]", i), text}
		}
	}
	return "", requirement{"", metav1.FormatLabelSelector(selector)}
}

// labelOf describes in words whether the labels have a key, and which value.
func labelOf(have map[string]string, key string) string {
	if value, ok := have[key]; ok {
		return fmt.Sprintf("has %s=%s", key, value)
	}
	return "has no label " + key
}

// list formats values as a list of JSON or YAML.
func list[T ~string](values []T) string {
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = fmt.Sprintf("%q", string(value))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func traceResource(r schema.GroupVersionResource, subresource string) trace.Resource {
	return trace.Resource{Group: r.Group, Version: r.Version, Resource: r.Resource, Subresource: subresource}
}

// versioned names a resource with its version, such as "apps/v1 deployments/scale".
func versioned(r schema.GroupVersionResource, subresource string) string {
	name := r.GroupVersion().String() + " " + r.Resource
	if subresource != "" {
		name += "/" + subresource
	}
	return name
}
