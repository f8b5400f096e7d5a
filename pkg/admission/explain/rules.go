package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// RulesMatch reports whether the rules match the request and the excludeResourceRules don't. If a rule matches an
// equivalent of the request's resource, RulesMatch also returns that resource. RulesMatch ignores the selectors.
func (m Matching) RulesMatch() (as *trace.Resource, match bool) {
	matched, ruledOut := m.Rules()
	if len(ruledOut) > 0 || m.exclusion() != nil {
		return nil, false
	}
	return matched.As, true
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

// part is a field of a rule. The field resources has two parts: the resource and the subresource.
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

// differences returns the parts of a rule that don't match the request.
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
