package admissionregistration

import (
	"context"
	"errors"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestPolicyParameters(t *testing.T) {
	t.Parallel()
	jane := &user.DefaultInfo{Name: "jane"}
	policy := func(kind string) *admissionregistrationv1.ValidatingAdmissionPolicy {
		return &admissionregistrationv1.ValidatingAdmissionPolicy{Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			ParamKind: &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: kind},
		}}
	}
	for _, test := range []struct {
		name, reason string
		who          user.Info
		kind         string
		old          *admissionregistrationv1.ValidatingAdmissionPolicy
		want         string
	}{
		{
			name: "may not read", reason: "a policy would reveal the content of its parameters",
			who: jane, kind: "Secret",
			want: `must have "get" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)`,
		},
		{
			name: "other parameters before", reason: "an update that changes the kind equals a new policy",
			who: jane, kind: "Secret", old: policy("ConfigMap"), want: `must have "get" permission`,
		},
		{name: "same parameters before", reason: "the parameters are older than this update", who: jane, kind: "Secret",
			old: policy("Secret")},
		{name: "may read", reason: "the author can read the parameters anyway", who: &user.DefaultInfo{Name: "reader"}, kind: "Secret"},
		{
			name:   "may not read everything",
			reason: "no resource has the kind yet, so the user needs permission for all resources of the group version",
			kind:   "Unknown",
			who:    &user.DefaultInfo{Name: "reader"},
			want:   `must have "get" permission on all objects of the referenced paramKind (kind=Unknown, apiVersion=v1)`,
		},
		{name: "may read everything", reason: "an unknown kind requires permission to read everything", kind: "Unknown",
			who: &user.DefaultInfo{Name: "auditor"}},
		{name: "may do everything",
			reason: "members of system:masters have every permission, without a call of the authorizer", kind: "Secret",
			who: &user.DefaultInfo{Name: "root", Groups: []string{user.SystemPrivilegedGroup}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			deps := registry.Dependencies{
				ResourceOf: func(gvk schema.GroupVersionKind) (schema.GroupVersionResource, bool) {
					return gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s"), gvk.Kind != "Unknown"
				},
				Authorizer: authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
					if a.GetUser().GetName() == "reader" && a.GetVerb() == "get" && a.GetResource() == "secrets" && a.GetName() == "*" {
						return authorizer.DecisionAllow, "", nil
					}
					if a.GetUser().GetName() == "auditor" && a.GetVerb() == "get" && a.GetResource() == "*" && a.GetName() == "*" {
						return authorizer.DecisionAllow, "", nil
					}
					return authorizer.DecisionNoOpinion, "", nil
				}),
			}
			ctx := genericapirequest.WithUser(registrytest.Through(corev1.SchemeGroupVersion), test.who)
			check := readsParams(func(p *admissionregistrationv1.ValidatingAdmissionPolicy) *admissionregistrationv1.ParamKind {
				return p.Spec.ParamKind
			})
			errs := check(ctx, deps, policy(test.kind), test.old)
			if test.want == "" && len(errs) == 0 {
				return
			}
			if test.want == "" || len(errs) != 1 || errs[0].Field != "spec.paramKind" || !strings.Contains(errs[0].Detail, test.want) {
				t.Errorf("%v, want %q: %s", errs, test.want, test.reason)
			}
		})
	}
}

func TestBindingParameters(t *testing.T) {
	t.Parallel()
	deps := registry.Dependencies{
		StoreOf:    func(schema.GroupResource) (*registry.Storage, error) { return nil, errors.New("no policies") },
		Authorizer: authorizerfactory.NewAlwaysDenyAuthorizer(),
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: "p", ParamRef: &admissionregistrationv1.ParamRef{Name: "s"}}}
	check := readsParam("validatingadmissionpolicies", func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) (string, *admissionregistrationv1.ParamRef) {
		return b.Spec.PolicyName, b.Spec.ParamRef
	})
	ctx := genericapirequest.WithUser(t.Context(), &user.DefaultInfo{Name: "jane"})
	registrytest.WantErrors(t, "an update that keeps the parameters reveals nothing new", check(ctx, deps, binding, binding.DeepCopy()))
	registrytest.WantErrors(t, "the parameters of a missing policy can be of any kind", check(ctx, deps, binding, nil),
		`spec.paramRef: Forbidden: unable to get policy p to determine minimum required permissions and user &{jane  [] map[]} does not have "get" permission for all groups, versions and resources`)
}

func TestBindingResource(t *testing.T) {
	t.Parallel()
	deps := registry.Dependencies{ResourceOf: func(gvk schema.GroupVersionKind) (schema.GroupVersionResource, bool) {
		return gvk.GroupVersion().WithResource("secrets"), gvk.Kind != "Unknown"
	}}
	for _, test := range []struct {
		reason, unable string
		kind           *admissionregistrationv1.ParamKind
		want           schema.GroupVersionResource
	}{
		{"a policy without parameters can get some later", "", nil, schema.GroupVersionResource{Group: "*", Version: "*", Resource: "*"}},
		{"the kind has a resource", "", &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "Secret"},
			schema.GroupVersionResource{Version: "v1", Resource: "secrets"}},
		{
			"the kind has no resource yet", "resolve paramKind &{g/v1 Unknown}",
			&admissionregistrationv1.ParamKind{APIVersion: "g/v1", Kind: "Unknown"},
			schema.GroupVersionResource{Group: "g", Version: "v1", Resource: "*"},
		},
		{
			"the version is malformed", "parse paramKind &{a/b/c Secret}",
			&admissionregistrationv1.ParamKind{APIVersion: "a/b/c", Kind: "Secret"},
			schema.GroupVersionResource{Group: "*", Version: "*", Resource: "*"},
		},
	} {
		if got, unable := bindingResource(deps, test.kind); got != test.want || unable != test.unable {
			t.Errorf("%s: got %v and %q, want %v and %q", test.reason, got, unable, test.want, test.unable)
		}
	}
}
