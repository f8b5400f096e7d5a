package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	namespaces "k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/namespace"
	objects "k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/object"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"

	"github.com/miniapi-dev/miniapi/pkg/trace"
)

// explainer says why a webhook matches a request or not. The library decides which webhooks match and gives no reason,
// so the explainer asks the library's predicates again, a part of a webhook at a time.
//
// Several parts may rule a webhook out. The verdict is that of the most basic part: rules, then namespaceSelector,
// objectSelector and match conditions. Further parts are in Verdict.Also.
type explainer struct {
	namespaces namespaces.Matcher
	objects    objects.Matcher
	conditions conditions
}

// matching is a webhook and the request that it is compared with.
type matching struct {
	hook webhook.WebhookAccessor
	// path is the path of the webhook in its configuration: webhooks[0].
	path       string
	attributes admission.Attributes
	interfaces admission.ObjectInterfaces
	versions   generic.VersionedAttributeAccessor
	// earlier are the objects of the request so far.
	earlier []trace.Object
}

// explain returns the verdict of a webhook.
func (e *explainer) explain(ctx context.Context, m matching) trace.Verdict {
	matched, verdicts := e.rules(m)
	var failed []trace.Verdict
	for _, part := range []func(matching) *trace.Verdict{e.namespaceSelector, e.objectSelector} {
		switch verdict := part(m); {
		case verdict == nil:
		case verdict.Reason == trace.MatchFailed:
			failed = append(failed, *verdict)
		default:
			verdicts = append(verdicts, *verdict)
		}
	}
	// The failure of a selector refuses the request if nothing else rules the webhook out.
	if len(verdicts) == 0 {
		verdicts = failed
	}
	if len(verdicts) == 0 {
		if verdict := e.conditions.explain(ctx, m, matched); verdict != nil {
			return *verdict
		}
		return matched.verdict()
	}
	verdict := verdicts[0]
	for _, also := range verdicts[1:] {
		verdict.Also = append(verdict.Also, also.Field)
	}
	return verdict
}

// match is how a request matches the rules.
type match struct {
	field    string
	resource schema.GroupVersionResource
	kind     schema.GroupVersionKind
	// as is the resource of the rule, if it isn't that of the request.
	as *trace.Resource
}

func (m match) verdict() trace.Verdict {
	return trace.Verdict{Reason: trace.Matched, Field: m.field, As: m.as}
}

// rules compares the rules, as the library does: those for the resource itself first, then equivalent resources.
func (e *explainer) rules(m matching) (match, []trace.Verdict) {
	all, resource := m.hook.GetRules(), m.attributes.GetResource()
	for i, rule := range all {
		if matchesRule(rule, m.attributes) {
			return match{m.rule(i), resource, m.attributes.GetKind(), nil}, nil
		}
	}
	mapper, subresource := m.interfaces.GetEquivalentResourceMapper(), m.attributes.GetSubresource()
	for i, rule := range all {
		for _, equivalent := range mapper.EquivalentResourcesFor(resource, subresource) {
			if equivalent == resource || !matchesRule(rule, inResource{m.attributes, equivalent}) {
				continue
			}
			as := traceResource(equivalent, subresource)
			if policy := m.hook.GetMatchPolicy(); policy != nil && *policy == admissionregistrationv1.Equivalent {
				return match{m.rule(i), equivalent, mapper.KindFor(equivalent, subresource), &as}, nil
			}
			return match{}, []trace.Verdict{{
				Reason: trace.MatchPolicyExact, Field: m.path + ".matchPolicy",
				Want: versioned(equivalent, subresource), Got: versioned(resource, subresource),
			}}
		}
	}
	if len(all) == 0 {
		return match{}, []trace.Verdict{{Reason: trace.NoRules, Field: m.path + ".rules"}}
	}
	// The rule with the fewest differences is the one that was meant.
	closest, fewest := 0, differences(all[0], m.attributes)
	for i, rule := range all[1:] {
		if different := differences(rule, m.attributes); len(different) < len(fewest) {
			closest, fewest = i+1, different
		}
	}
	return match{}, []trace.Verdict{fewest[0].verdict(m.rule(closest), all[closest], m.attributes)}
}

func (m matching) rule(i int) string { return fmt.Sprintf("%s.rules[%d]", m.path, i) }

// inResource is a request as if it were for an equivalent resource.
type inResource struct {
	admission.Attributes
	resource schema.GroupVersionResource
}

func (a inResource) GetResource() schema.GroupVersionResource { return a.resource }

func matchesRule(rule admissionregistrationv1.RuleWithOperations, a admission.Attributes) bool {
	matcher := rules.Matcher{Rule: rule, Attr: a}
	return matcher.Matches()
}

// part is a part of a rule.
type part struct {
	reason trace.Reason
	// field is the name of the part.
	field string
	// alone returns a rule with this part alone: everything else matches any request.
	alone func(only *admissionregistrationv1.RuleWithOperations, rule admissionregistrationv1.RuleWithOperations)
	want  func(admissionregistrationv1.RuleWithOperations) string
	got   func(admission.Attributes) string
}

// ruleParts are the parts of a rule, the most basic one first.
var ruleParts = []part{
	{
		trace.RuleGroup, "apiGroups",
		func(only *admissionregistrationv1.RuleWithOperations, rule admissionregistrationv1.RuleWithOperations) {
			only.APIGroups = rule.APIGroups
		},
		func(rule admissionregistrationv1.RuleWithOperations) string { return list(rule.APIGroups) },
		func(a admission.Attributes) string { return fmt.Sprintf("%q", a.GetResource().Group) },
	},
	{
		trace.RuleVersion, "apiVersions",
		func(only *admissionregistrationv1.RuleWithOperations, rule admissionregistrationv1.RuleWithOperations) {
			only.APIVersions = rule.APIVersions
		},
		func(rule admissionregistrationv1.RuleWithOperations) string { return list(rule.APIVersions) },
		func(a admission.Attributes) string { return a.GetResource().Version },
	},
	{
		trace.RuleResource, "resources",
		func(only *admissionregistrationv1.RuleWithOperations, rule admissionregistrationv1.RuleWithOperations) {
			only.Resources = nil
			for _, resource := range rule.Resources {
				name, _, _ := strings.Cut(resource, "/")
				only.Resources = append(only.Resources, name+"/*")
			}
		},
		func(rule admissionregistrationv1.RuleWithOperations) string { return list(rule.Resources) },
		func(a admission.Attributes) string { return a.GetResource().Resource },
	},
	{
		trace.RuleSubresource, "resources",
		func(only *admissionregistrationv1.RuleWithOperations, rule admissionregistrationv1.RuleWithOperations) {
			only.Resources = rule.Resources
		},
		func(rule admissionregistrationv1.RuleWithOperations) string { return list(rule.Resources) },
		func(a admission.Attributes) string {
			if a.GetSubresource() == "" {
				return a.GetResource().Resource + " itself"
			}
			return "subresource " + a.GetResource().Resource + "/" + a.GetSubresource()
		},
	},
	{
		trace.RuleScope, "scope",
		func(only *admissionregistrationv1.RuleWithOperations, rule admissionregistrationv1.RuleWithOperations) {
			only.Scope = rule.Scope
		},
		func(rule admissionregistrationv1.RuleWithOperations) string { return string(*rule.Scope) },
		func(a admission.Attributes) string {
			if a.GetNamespace() == "" || a.GetResource().Resource == "namespaces" {
				return "cluster-scoped"
			}
			return "namespaced"
		},
	},
	{
		trace.RuleOperation, "operations",
		func(only *admissionregistrationv1.RuleWithOperations, rule admissionregistrationv1.RuleWithOperations) {
			only.Operations = rule.Operations
		},
		func(rule admissionregistrationv1.RuleWithOperations) string { return list(rule.Operations) },
		func(a admission.Attributes) string { return string(a.GetOperation()) },
	},
}

func (p part) verdict(rule string, configured admissionregistrationv1.RuleWithOperations, a admission.Attributes) trace.Verdict {
	return trace.Verdict{Reason: p.reason, Field: rule + "." + p.field, Want: p.want(configured), Got: p.got(a)}
}

// differences returns the parts of a rule that don't match.
func differences(rule admissionregistrationv1.RuleWithOperations, a admission.Attributes) []part {
	var different []part
	for _, p := range ruleParts {
		alone := admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}},
		}
		p.alone(&alone, rule)
		if !matchesRule(alone, a) {
			different = append(different, p)
		}
	}
	return different
}

// namespaceSelector returns nil if the selector matches.
func (e *explainer) namespaceSelector(m matching) *trace.Verdict {
	field := m.path + ".namespaceSelector"
	matches, err := e.namespaces.MatchNamespaceSelector(m.hook, m.attributes)
	if err != nil {
		return &trace.Verdict{Reason: trace.MatchFailed, Field: field, Detail: err.Error()}
	}
	if matches {
		return nil
	}
	have, _ := e.namespaces.GetNamespaceLabels(m.attributes) // the selector has been compared with them
	key, requirement := unmet(m.hook.GetNamespaceSelector(), have)
	return &trace.Verdict{
		Reason: trace.NamespaceSelector, Field: field + requirement.field, Want: requirement.text,
		Got: fmt.Sprintf("namespace %q %s", m.attributes.GetNamespace(), labelOf(have, key)),
	}
}

// objectSelector returns nil if the selector matches.
func (e *explainer) objectSelector(m matching) *trace.Verdict {
	field := m.path + ".objectSelector"
	matches, err := e.objects.MatchObjectSelector(m.hook, m.attributes)
	if err != nil {
		return &trace.Verdict{Reason: trace.MatchFailed, Field: field, Detail: err.Error()}
	}
	if matches {
		return nil
	}
	have, described := m.object()
	key, requirement := unmet(m.hook.GetObjectSelector(), have)
	verdict := &trace.Verdict{Reason: trace.ObjectSelector, Field: field + requirement.field, Want: requirement.text, Got: described(key)}
	if by := m.changedBy(); by != "" {
		verdict.Reason, verdict.By = trace.ObjectSelectorChanged, by
	}
	return verdict
}

// object returns the labels by which the objectSelector is explained, and describes a label of the request's objects.
func (m matching) object() (map[string]string, func(key string) string) {
	object, old := labelsOf(m.attributes.GetObject()), labelsOf(m.attributes.GetOldObject())
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

// changedBy returns the part of the chain after which the object didn't match any more, or "" if it never did.
func (m matching) changedBy() string {
	selector, err := m.hook.GetParsedObjectSelector()
	if err != nil {
		return ""
	}
	by, matched := "", false
	for _, object := range m.earlier {
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

// labelsOf returns the labels of an object, or nil for anything without metadata.
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

// requirement is a part of a selector.
type requirement struct {
	// field is the path below the selector.
	field string
	text  string
}

// unmet returns the first part of a selector that labels don't meet, and the key of the label.
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

// labelOf describes a label.
func labelOf(have map[string]string, key string) string {
	if value, ok := have[key]; ok {
		return fmt.Sprintf("has %s=%s", key, value)
	}
	return "has no label " + key
}

// list returns a list as YAML and JSON have it.
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

// versioned names a resource with its version: apps/v1 deployments/scale.
func versioned(r schema.GroupVersionResource, subresource string) string {
	name := r.GroupVersion().String() + " " + r.Resource
	if subresource != "" {
		name += "/" + subresource
	}
	return name
}
