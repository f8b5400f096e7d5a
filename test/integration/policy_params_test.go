package integration_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

const (
	denyIfNotFound  = admissionregistrationv1.DenyAction
	allowIfNotFound = admissionregistrationv1.AllowAction
)

// The parameters of a policy are objects of one kind, and its binding selects them. The cases policy.params.* of the
// conformance suite wait until a server uses the parameters. This test doesn't wait, and has empty selectors and
// selectors that match nothing.
func TestPolicyParams(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	core := srv.Client().CoreV1()
	for _, namespace := range []string{"one", "two"} {
		must(core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: named(namespace)}, metav1.CreateOptions{}))(t)
	}
	param := func(namespace, name, prefix string, labels map[string]string) {
		must(core.ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Data: map[string]string{"prefix": prefix},
		}, metav1.CreateOptions{}))(t)
	}
	param(metav1.NamespaceDefault, "limits", "d-", map[string]string{"limits": "default"})
	param("one", "limits", "one-", map[string]string{"limits": "one"})
	param("one", "more", "one-a", map[string]string{"limits": "one"})

	tests := []struct {
		name, reason string
		ref          admissionregistrationv1.ParamRef
		namespace    string   // the namespace of the request
		admitted     []string // the names of the Secrets that the policy allows
		refused      map[string]string
	}{{
		name: "of-a-namespace", reason: "paramRef.namespace is used for requests in every namespace",
		ref: admissionregistrationv1.ParamRef{Name: "limits", Namespace: metav1.NamespaceDefault}, namespace: "two",
		admitted: []string{"d-x"}, refused: map[string]string{"one-x": "must begin with d-"},
	}, {
		name: "of-the-request", reason: "without paramRef.namespace, the parameter is in the namespace of the request",
		ref: admissionregistrationv1.ParamRef{Name: "limits"}, namespace: "one",
		admitted: []string{"one-x"}, refused: map[string]string{"d-x": "must begin with one-"},
	}, {
		name: "selected", reason: "the validation must be true for all parameters that the selector finds",
		ref:       admissionregistrationv1.ParamRef{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"limits": "one"}}},
		namespace: "one",
		admitted:  []string{"one-a"}, refused: map[string]string{"one-b": "must begin with one-a"},
	}, {
		name: "all", reason: "an empty selector finds all parameters of the namespace",
		ref: admissionregistrationv1.ParamRef{Selector: &metav1.LabelSelector{}}, namespace: metav1.NamespaceDefault,
		refused: map[string]string{"one-x": "must begin with d-"},
	}, {
		name: "missing-refuses", reason: "parameterNotFoundAction Deny refuses the request if the parameter is missing",
		ref:       admissionregistrationv1.ParamRef{Name: "limits", ParameterNotFoundAction: new(denyIfNotFound)},
		refused:   map[string]string{"x": "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"},
		namespace: "two",
	}, {
		name: "missing-admits", reason: "parameterNotFoundAction Allow allows the request if the parameter is missing",
		ref:      admissionregistrationv1.ParamRef{Name: "limits", ParameterNotFoundAction: new(allowIfNotFound)},
		admitted: []string{"x"}, namespace: "two",
	}, {
		name: "nothing-selected-refuses", reason: "the action for missing parameters also applies if a selector finds none",
		ref: admissionregistrationv1.ParamRef{
			Selector:                &metav1.LabelSelector{MatchLabels: map[string]string{"limits": "none"}},
			ParameterNotFoundAction: new(denyIfNotFound),
		},
		refused:   map[string]string{"x": "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"},
		namespace: "two",
	}, {
		name: "nothing-selected-admits", reason: "the request is allowed if a selector finds no parameters and the action is Allow",
		ref: admissionregistrationv1.ParamRef{
			Selector:                &metav1.LabelSelector{MatchLabels: map[string]string{"limits": "none"}},
			ParameterNotFoundAction: new(allowIfNotFound),
		},
		admitted: []string{"x"}, namespace: "two",
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.ref.ParameterNotFoundAction == nil {
				test.ref.ParameterNotFoundAction = new(denyIfNotFound)
			}
			enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named(test.name), Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
				ParamKind:        &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"},
				MatchConstraints: matchResources("CREATE", "v1", "secrets"),
				Validations: []admissionregistrationv1.Validation{{
					// The binding may select any ConfigMap as a parameter, but only some ConfigMaps have the key
					// prefix.
					Expression:        "!has(params.data.prefix) || object.metadata.name.startsWith(params.data.prefix)",
					MessageExpression: "'must begin with ' + params.data.prefix",
				}},
			}}, admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}, ParamRef: &test.ref,
			})
			create := func(name string) error {
				_, err := core.Secrets(test.namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: named(name)}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				return err
			}
			for _, name := range test.admitted {
				if err := create(name); err != nil {
					t.Errorf("%s: %s: %v", name, test.reason, err)
				}
			}
			for name, message := range test.refused {
				want := `secrets "` + name + `" is forbidden: ValidatingAdmissionPolicy '` + test.name + `' with binding '` + test.name + `' denied request: ` + message
				if diff := cmp.Diff(want, statusOf(create(name)).Message); diff != "" {
					t.Errorf("%s: %s: refusal (-want +got):\n%s", name, test.reason, diff)
				}
			}
		})
	}
}

// Parameters can be custom resources, whose definition may be created after the policy. When a request that changes a
// parameter is answered, policies use the new parameter.
func TestPolicyParamsOfCustomResources(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named("sizes"), Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		ParamKind:        &admissionregistrationv1.ParamKind{APIVersion: "example.com/v1", Kind: "Widget"},
		MatchConstraints: matchResources("CREATE", "v1", "configmaps"),
		Validations:      []admissionregistrationv1.Validation{{Expression: "object.data.size in params.spec.sizes"}},
	}}, admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		ParamRef: &admissionregistrationv1.ParamRef{Name: "sizes", Namespace: metav1.NamespaceDefault,
			ParameterNotFoundAction: new(denyIfNotFound)},
	})
	widgets := resources(srv, "example.com/v1", "widgets")
	widget := func(sizes ...any) *unstructured.Unstructured {
		return object("example.com/v1", "Widget", "sizes", map[string]any{"spec": map[string]any{"sizes": sizes}})
	}
	for _, step := range []struct {
		name, reason string
		change       func(context.Context) error
		want         string // the reason why the value "large" is refused, or "" if it isn't
	}{{
		name: "not defined", reason: "the kind of the parameters isn't defined",
		change: func(context.Context) error { return nil },
		want:   "ValidatingAdmissionPolicy 'sizes' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Widget'",
	}, {
		name: "defined", reason: "the kind is defined, but the parameter doesn't exist",
		change: func(context.Context) error { define(t, srv, "widgets", "Widget", "v1"); return nil },
		want:   "ValidatingAdmissionPolicy 'sizes' with binding 'sizes' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
	}, {
		name: "created", reason: "the parameter doesn't allow the size",
		change: func(ctx context.Context) error {
			_, err := widgets.Create(ctx, widget("small"), metav1.CreateOptions{})
			return err
		},
		want: "ValidatingAdmissionPolicy 'sizes' with binding 'sizes' denied request: failed expression: object.data.size in params.spec.sizes",
	}, {
		name: "changed", reason: "the changed parameter allows the size",
		change: func(ctx context.Context) error {
			_, err := widgets.Apply(ctx, "sizes", widget("small", "large"), metav1.ApplyOptions{FieldManager: "test", Force: true})
			return err
		},
	}, {
		name: "deleted", reason: "the parameter is deleted",
		change: func(ctx context.Context) error { return widgets.Delete(ctx, "sizes", metav1.DeleteOptions{}) },
		want:   "ValidatingAdmissionPolicy 'sizes' with binding 'sizes' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
	}} {
		ok(t, step.change(t.Context()))
		err := createConfigMap(t.Context(), srv.Client(), "large", map[string]string{"size": "large"})
		want := step.want
		if want != "" {
			want = `configmaps "large" is forbidden: ` + want
		}
		if diff := cmp.Diff(want, statusOf(err).Message); diff != "" {
			t.Errorf("%s: %s: refusal (-want +got):\n%s", step.name, step.reason, diff)
		}
		if err == nil {
			ok(t, srv.Client().CoreV1().ConfigMaps(metav1.NamespaceDefault).Delete(t.Context(), "large", metav1.DeleteOptions{}))
		}
	}
}

// If a CustomResourceDefinition is deleted and another one defines the same kind, policies use the custom resources of
// the new definition as parameters.
func TestPolicyParamsDefinedAnew(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named("closed"), Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		ParamKind:   &admissionregistrationv1.ParamKind{APIVersion: "example.com/v1", Kind: "Lock"},
		Validations: []admissionregistrationv1.Validation{{Expression: "params.spec.open == true"}},
	}}, admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		ParamRef: &admissionregistrationv1.ParamRef{Selector: &metav1.LabelSelector{},
			ParameterNotFoundAction: new(allowIfNotFound)},
	})
	definitions := srv.DynamicClient().Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	for _, test := range []struct {
		name, reason string
		plural       string
		scope        apiextensionsv1.ResourceScope
		namespace    string // the namespace of the parameter
		refused      bool
	}{{
		name: "first", reason: "a lock without a namespace is for objects in all namespaces", plural: "locks",
		scope: apiextensionsv1.ClusterScoped, refused: true,
	}, {
		name: "namespaced", reason: "a lock in another namespace doesn't apply", plural: "locks",
		scope: apiextensionsv1.NamespaceScoped, namespace: metav1.NamespaceSystem,
	}, {
		name: "namespaced again", reason: "locks are looked for in the namespace", plural: "locks",
		scope: apiextensionsv1.NamespaceScoped, namespace: metav1.NamespaceDefault, refused: true,
	}, {
		name: "renamed", reason: "the new definition has another plural name for locks", plural: "padlocks",
		scope: apiextensionsv1.NamespaceScoped, namespace: metav1.NamespaceDefault, refused: true,
	}, {
		name: "without namespaces", reason: "a lock without a namespace is again for objects in all namespaces",
		plural: "padlocks", scope: apiextensionsv1.ClusterScoped, refused: true,
	}} {
		definition := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", test.plural+".example.com", map[string]any{"spec": map[string]any{
			"group": "example.com", "scope": string(test.scope), "names": map[string]any{"kind": "Lock", "plural": test.plural},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "x-kubernetes-preserve-unknown-fields": true,
			}}}},
		}})
		must(definitions.Create(t.Context(), definition, metav1.CreateOptions{}))(t)
		locks := srv.DynamicClient().Resource(groupVersionOf("example.com/v1").WithResource(test.plural)).Namespace(test.namespace)
		must(locks.Create(t.Context(), object("example.com/v1", "Lock", "lock", map[string]any{"spec": map[string]any{"open": false}}), metav1.CreateOptions{}))(t)
		_, err := srv.Client().CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named("x")}, metav1.CreateOptions{DryRun: dry})
		if refused := err != nil; refused != test.refused {
			t.Errorf("%s: %s: refused %v, want %v: %v", test.name, test.reason, refused, test.refused, err)
		}
		ok(t, definitions.Delete(t.Context(), definition.GetName(), metav1.DeleteOptions{}))
		gone(t, "the definition "+definition.GetName(), func(ctx context.Context) (*unstructured.Unstructured, error) {
			return definitions.Get(ctx, definition.GetName(), metav1.GetOptions{})
		})
	}
}

// When the server answers a request that changes a CustomResourceDefinition, expressions of policies already get
// parameters with the fields of the new schema.
func TestPolicyParamsOfAnotherSchema(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	definitions := clusterResources(srv, "apiextensions.k8s.io/v1", "customresourcedefinitions")
	definition := func(properties map[string]any) map[string]any {
		return map[string]any{"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"kind": "Lock", "plural": "locks"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "properties": properties}},
			}}}},
		}}
	}
	must(definitions.Create(t.Context(), object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "locks.example.com", definition(nil)), metav1.CreateOptions{}))(t)
	locks := resources(srv, "example.com/v1", "locks")
	must(locks.Create(t.Context(), object("example.com/v1", "Lock", "lock", nil), metav1.CreateOptions{}))(t)
	enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named("open"), Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		ParamKind:   &admissionregistrationv1.ParamKind{APIVersion: "example.com/v1", Kind: "Lock"},
		Validations: []admissionregistrationv1.Validation{{Expression: "has(params.spec.open)"}},
	}}, admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		ParamRef: &admissionregistrationv1.ParamRef{Selector: &metav1.LabelSelector{},
			ParameterNotFoundAction: new(denyIfNotFound)},
	})
	patch := func(client dynamic.ResourceInterface, name string, change map[string]any) {
		body, err := json.Marshal(change)
		ok(t, err)
		must(client.Patch(t.Context(), name, types.MergePatchType, body, metav1.PatchOptions{}))(t)
	}
	patch(definitions, "locks.example.com", definition(map[string]any{"open": map[string]any{"type": "boolean"}}))
	patch(locks, "lock", map[string]any{"spec": map[string]any{"open": true}})
	ok(t, createConfigMap(t.Context(), srv.Client(), "x", nil))
}

// The author of a policy needs permission to read all objects of the parameter kind. The author of a binding needs
// permission to read the selected objects. Otherwise, refusals by the policy could reveal the content of the objects to
// the author. An update that doesn't change the parameters needs no permission.
func TestPolicyParamsNeedPermission(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	secrets := map[string]any{"apiVersion": "v1", "kind": "Secret"}
	policy := func(mutates bool, paramKind map[string]any) map[string]any {
		fields := policySpec(mutates, matching("example.com"))
		if paramKind != nil {
			fields["spec"].(map[string]any)["paramKind"] = paramKind
		}
		return fields
	}
	bound := func(mutates bool, paramRef map[string]any) map[string]any {
		fields := bindingSpec("secretive", mutates)
		if paramRef != nil {
			paramRef["namespace"], paramRef["parameterNotFoundAction"] = metav1.NamespaceDefault, "Deny"
			fields["spec"].(map[string]any)["paramRef"] = paramRef
		}
		return fields
	}
	byName := func(name string) map[string]any { return map[string]any{"name": name} }
	selected := map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}}
	onSecret := rbacRule("", "get", "secrets")
	onSecret.ResourceNames = []string{"s"}
	// The messages name the missing permission.
	const (
		allSecrets = `must have "get" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)`
		theSecret  = `does not have "get" permission on the object referenced by paramRef`
		theSecrets = `does not have "list" permission on the object referenced by paramRef`
	)
	for _, mutates := range []bool{false, true} {
		prefix := "Validating"
		if mutates {
			prefix = "Mutating"
		}
		must(clusterResources(srv, configurationAPI, resourceOf(prefix+"AdmissionPolicy")).Create(t.Context(), object(configurationAPI, prefix+"AdmissionPolicy", "secretive", policy(mutates, secrets)), metav1.CreateOptions{}))(t)
		for _, test := range []struct {
			name, reason string
			kind         string
			before       map[string]any // the stored object, or nil for a create
			after        map[string]any
			refusal      string             // the message for a user without permission
			less         *rbacv1.PolicyRule // a permission that is too small
			enough       rbacv1.PolicyRule
		}{
			{"new policy", "the author has no permission for the new kind of parameters", "AdmissionPolicy", nil,
				policy(mutates, secrets), allSecrets, &onSecret, rbacRule("", "get", "secrets")},
			{"policy with other parameters", "the author has no permission for the new kind of parameters", "AdmissionPolicy",
				policy(mutates, map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}), policy(mutates, secrets),
				allSecrets, &onSecret, rbacRule("", "get", "secrets")},
			{"policy with the same parameters", "the update gives the author no access to further objects",
				"AdmissionPolicy", policy(mutates, secrets), policy(mutates, secrets), "", nil, rbacv1.PolicyRule{}},
			{"policy without parameters", "a policy without parameters reveals no objects", "AdmissionPolicy", nil,
				policy(mutates, nil), "", nil, rbacv1.PolicyRule{}},
			{"new binding by name", "permission for the one object is enough", "AdmissionPolicyBinding", nil,
				bound(mutates, byName("s")), theSecret, nil, onSecret},
			{"new binding by a selector", "the selector may find any object", "AdmissionPolicyBinding", nil,
				bound(mutates, selected), theSecrets, &onSecret, rbacRule("", "list", "secrets")},
			{"binding to other parameters", "the author has no permission for the newly named object",
				"AdmissionPolicyBinding", bound(mutates, byName("other")), bound(mutates, byName("s")), theSecret, nil,
				onSecret},
			{"binding to the same parameters", "the update gives the author no access to further objects",
				"AdmissionPolicyBinding", bound(mutates, byName("s")), bound(mutates, byName("s")), "", nil,
				rbacv1.PolicyRule{}},
			{"binding without parameters", "a binding without parameters reveals no objects", "AdmissionPolicyBinding",
				nil, bound(mutates, nil), "", nil, rbacv1.PolicyRule{}},
		} {
			t.Run(prefix+" "+test.name, func(t *testing.T) {
				kind := prefix + test.kind
				name := strings.ReplaceAll(test.name, " ", "-")
				author := strings.ToLower(prefix) + "-" + name
				if test.before != nil {
					must(clusterResources(srv, configurationAPI, resourceOf(kind)).Create(t.Context(), object(configurationAPI, kind, name, test.before), metav1.CreateOptions{}))(t)
				}
				grant(t, srv, author, rbacRule("admissionregistration.k8s.io", "*", resourceOf(kind)))
				client := must(dynamic.NewForConfig(srv.AddUser(author)))(t).Resource(groupVersionOf(configurationAPI).WithResource(resourceOf(kind)))
				after := object(configurationAPI, kind, name, test.after)
				after.SetLabels(map[string]string{"changed": "yes"})
				write := func() error {
					_, err := client.Apply(t.Context(), name, after, metav1.ApplyOptions{FieldManager: "test", Force: true})
					return err
				}
				if test.refusal == "" {
					ok(t, write())
					return
				}
				refused := func(why string) {
					t.Helper()
					if err := write(); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.refusal) {
						t.Errorf("%s: %s: want it refused with %q, got %v", test.reason, why, test.refusal, err)
					}
				}
				refused("without permission")
				if test.less != nil {
					grant(t, srv, author, *test.less)
					refused("with permission for one object")
				}
				grant(t, srv, author, test.enough)
				if err := write(); err != nil {
					t.Errorf("%s: with permission: %v", test.reason, err)
				}
			})
		}
	}
}
