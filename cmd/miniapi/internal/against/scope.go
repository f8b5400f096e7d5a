package against

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/policycheck"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace/resources"
)

// scope is what the policies, the webhooks and the definitions that are judged are about.
type scope struct {
	rules []admissionregistrationv1.Rule
	// params are the kinds of the policies' parameters.
	params []schema.GroupVersionKind
	// definitions are the judged definitions, by the kinds that they define.
	definitions map[schema.GroupKind]string
	// authorizes is true if an expression asks the authorizer, so that roles matter.
	authorizes bool
}

// scopeOf returns the scope of objects.
func scopeOf(objects []manifests.Object) scope {
	s := scope{definitions: map[schema.GroupKind]string{}}
	for _, object := range objects {
		switch object.GetKind() {
		case trace.ValidatingPolicy, trace.MutatingPolicy:
			policy := &admissionregistrationv1.ValidatingAdmissionPolicy{} // both kinds have these fields
			if !decode(object, policy) {
				continue // the server refuses the object
			}
			if constraints := policy.Spec.MatchConstraints; constraints != nil {
				for _, rule := range constraints.ResourceRules {
					s.rules = append(s.rules, rule.Rule)
				}
			}
			if kind := policy.Spec.ParamKind; kind != nil {
				s.params = append(s.params, schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind))
			}
			s.authorizes = s.authorizes || asksAuthorizer(object.Object)
		case trace.ValidatingConfiguration, trace.MutatingConfiguration:
			configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{} // both kinds have these fields
			if !decode(object, configuration) {
				continue
			}
			for _, webhook := range configuration.Webhooks {
				for _, rule := range webhook.Rules {
					s.rules = append(s.rules, rule.Rule)
				}
			}
			s.authorizes = s.authorizes || asksAuthorizer(object.Object)
		case manifests.DefinitionKind.Kind:
			field := func(path ...string) string {
				text, _, _ := unstructured.NestedString(object.Object, append([]string{"spec"}, path...)...)
				return text
			}
			s.definitions[schema.GroupKind{Group: field("group"), Kind: field("names", "kind")}] = object.GetName()
			s.rules = append(s.rules, admissionregistrationv1.Rule{
				APIGroups: []string{field("group")}, APIVersions: []string{"*"}, Resources: []string{field("names", "plural")},
			})
		}
	}
	return s
}

func decode(object manifests.Object, into any) bool {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into) == nil
}

// asksAuthorizer reports whether a text of an object, such as an expression, names the authorizer.
func asksAuthorizer(value any) bool {
	switch value := value.(type) {
	case string:
		return strings.Contains(value, "authorizer")
	case []any:
		return slices.ContainsFunc(value, asksAuthorizer)
	case map[string]any:
		for _, field := range value {
			if asksAuthorizer(field) {
				return true
			}
		}
	}
	return false
}

// has reports whether objects of a resource can be judged. A rule may name another version of the resource, because
// matchPolicy is Equivalent by default.
func (s scope) has(of resources.Resource) bool {
	return of.Subresource == "" && slices.ContainsFunc(s.rules, func(rule admissionregistrationv1.Rule) bool {
		return policycheck.Names(rule, of)
	})
}

// hasGroup reports whether objects of a group can be judged, or be parameters.
func (s scope) hasGroup(group string) bool {
	return slices.ContainsFunc(s.rules, func(rule admissionregistrationv1.Rule) bool {
		return slices.Contains(rule.APIGroups, "*") || slices.Contains(rule.APIGroups, group)
	}) || slices.ContainsFunc(s.params, func(kind schema.GroupVersionKind) bool { return kind.Group == group })
}

// Wanted returns a function that selects what is judged: policies, bindings, webhook configurations, definitions, and the
// parameters of the policies.
func Wanted(objects []manifests.Object) func(schema.GroupVersionKind) bool {
	params := scopeOf(objects).params
	return func(kind schema.GroupVersionKind) bool {
		return policycheck.Wanted(kind) || slices.Contains(params, kind)
	}
}
