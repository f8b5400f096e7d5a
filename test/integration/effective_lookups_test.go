package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// After the answer to a write, admission uses the new state of the objects that it looks up: parameters of policies,
// labels, service accounts, addresses of services. This is also true after the deletion of a collection.
func TestEffectiveLookups(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithAdmissionPlugins("ServiceAccount"))
	client := srv.Client()
	core, registration := client.CoreV1(), client.AdmissionregistrationV1()
	create, remove := metav1.CreateOptions{}, metav1.DeleteOptions{}
	allowed := srv.Webhook("/allow", allow()).ClientConfig()
	denied := srv.Webhook("/deny", deny("no")).ClientConfig()
	address := must(url.Parse(*allowed.URL))(t)
	target := int32(must(strconv.Atoi(address.Port()))(t))

	refusedConfigMap := func(ctx context.Context, namespace string) (bool, error) {
		_, err := core.ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: named("m")}, metav1.CreateOptions{DryRun: dry})
		return err != nil, ignoreRefusal(err)
	}
	pods := func(change func(*corev1.Pod)) func(context.Context, string) (bool, error) {
		return func(ctx context.Context, namespace string) (bool, error) {
			p := pod("p")
			change(p)
			_, err := core.Pods(namespace).Create(ctx, p, metav1.CreateOptions{DryRun: dry})
			return err == nil, ignoreRefusal(err)
		}
	}
	account := func(name string) *corev1.ServiceAccount { return &corev1.ServiceAccount{ObjectMeta: named(name)} }
	within := func(namespace string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
	}
	configuration := func(name, namespace string, config admissionregistrationv1.WebhookClientConfig) *admissionregistrationv1.ValidatingWebhookConfiguration {
		h := validating(name, nil, on("CREATE", "v1", "configmaps"), at(config))
		h.NamespaceSelector = within(namespace)
		return &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"of": namespace}},
			Webhooks:   []admissionregistrationv1.ValidatingWebhook{h.validating()},
		}
	}
	label := func(key, value string) func(context.Context, string) error {
		return func(ctx context.Context, name string) error {
			_, err := core.Namespaces().Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":{"`+key+`":`+value+`}}}`), metav1.PatchOptions{})
			return err
		}
	}

	takeEffect(t, srv, []setting{{
		name: "params", reason: "the parameter of a policy",
		prepare: func(ctx context.Context, name string) error {
			spec := validations(admissionregistrationv1.Validation{Expression: "params.data.refuses != request.namespace"})
			spec.ParamKind = &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
			spec.MatchConstraints = matchResources("CREATE", "v1", "configmaps")
			spec.MatchConstraints.NamespaceSelector = within(name)
			if _, err := registration.ValidatingAdmissionPolicies().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named(name), Spec: spec}, create); err != nil {
				return err
			}
			bound := binding(admissionregistrationv1.Deny)
			bound.PolicyName = name
			bound.ParamRef = &admissionregistrationv1.ParamRef{Name: name, Namespace: metav1.NamespaceDefault, ParameterNotFoundAction: new(admissionregistrationv1.AllowAction)}
			_, err := registration.ValidatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: named(name), Spec: bound}, create)
			return err
		},
		on: func(ctx context.Context, name string) error {
			_, err := core.ConfigMaps(metav1.NamespaceDefault).Create(ctx, &corev1.ConfigMap{ObjectMeta: named(name), Data: map[string]string{"refuses": name}}, create)
			return err
		},
		off: func(ctx context.Context, name string) error {
			return core.ConfigMaps(metav1.NamespaceDefault).Delete(ctx, name, remove)
		},
		effect: refusedConfigMap,
	}, {
		name: "namespace-object", reason: "the namespace, as a policy's expressions see it",
		prepare: func(ctx context.Context, name string) error {
			spec := validations(admissionregistrationv1.Validation{Expression: "!('closed' in namespaceObject.metadata.labels)"})
			spec.MatchConstraints = matchResources("CREATE", "v1", "configmaps")
			spec.MatchConstraints.NamespaceSelector = within(name)
			if _, err := registration.ValidatingAdmissionPolicies().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named(name), Spec: spec}, create); err != nil {
				return err
			}
			bound := binding(admissionregistrationv1.Deny)
			bound.PolicyName = name
			_, err := registration.ValidatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: named(name), Spec: bound}, create)
			return err
		},
		on: label("closed", `"1"`), off: label("closed", "null"), effect: refusedConfigMap,
	}, {
		name: "pod-security", reason: "the standard that a namespace enforces",
		prepare: func(ctx context.Context, name string) error {
			_, err := core.ServiceAccounts(name).Create(ctx, account("default"), create)
			return err
		},
		on: label("pod-security.kubernetes.io/enforce", "null"), off: label("pod-security.kubernetes.io/enforce", `"restricted"`),
		effect: pods(func(*corev1.Pod) {}),
	}, {
		name: "service-account", reason: "the account that a pod runs as",
		on: func(ctx context.Context, name string) error {
			_, err := core.ServiceAccounts(name).Create(ctx, account("runner"), create)
			return err
		},
		off: func(ctx context.Context, name string) error {
			return core.ServiceAccounts(name).Delete(ctx, "runner", remove)
		},
		effect: pods(func(p *corev1.Pod) { p.Spec.ServiceAccountName = "runner" }),
	}, {
		name: "service", reason: "where the service of a webhook is",
		prepare: func(ctx context.Context, name string) error {
			if _, err := core.Services(name).Create(ctx, &corev1.Service{ObjectMeta: named("hook"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}}, create); err != nil {
				return err
			}
			_, err := registration.ValidatingWebhookConfigurations().Create(ctx, configuration(name, name, admissionregistrationv1.WebhookClientConfig{
				CABundle: allowed.CABundle,
				Service:  &admissionregistrationv1.ServiceReference{Namespace: name, Name: "hook", Path: new("/allow")},
			}), create)
			return err
		},
		on: func(ctx context.Context, name string) error {
			_, err := client.DiscoveryV1().EndpointSlices(name).Create(ctx, &discoveryv1.EndpointSlice{
				ObjectMeta:  metav1.ObjectMeta{Name: "hook", Labels: map[string]string{discoveryv1.LabelServiceName: "hook"}},
				AddressType: discoveryv1.AddressTypeIPv4,
				Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address.Hostname()}}},
				Ports:       []discoveryv1.EndpointPort{{Port: &target}},
			}, create)
			return err
		},
		off: func(ctx context.Context, name string) error {
			return client.DiscoveryV1().EndpointSlices(name).Delete(ctx, "hook", remove)
		},
		effect: func(ctx context.Context, name string) (bool, error) {
			_, err := core.ConfigMaps(name).Create(ctx, &corev1.ConfigMap{ObjectMeta: named("m")}, metav1.CreateOptions{DryRun: dry})
			return err == nil, nil
		},
	}, {
		name: "collection", reason: "a collection of webhook configurations",
		on: func(ctx context.Context, name string) error {
			for i := range 3 {
				if _, err := registration.ValidatingWebhookConfigurations().Create(ctx, configuration(fmt.Sprintf("%s-%d", name, i), name, denied), create); err != nil {
					return err
				}
			}
			return nil
		},
		off: func(ctx context.Context, name string) error {
			return registration.ValidatingWebhookConfigurations().DeleteCollection(ctx, remove, metav1.ListOptions{LabelSelector: "of=" + name})
		},
		effect: refusedConfigMap,
	}, {
		name: "dry-run", reason: "a dry run has no effect on later requests, and a request has",
		on: func(ctx context.Context, name string) error {
			_, err := registration.ValidatingWebhookConfigurations().Create(ctx, configuration(name, name, denied), create)
			return err
		},
		off: func(ctx context.Context, name string) error {
			if err := registration.ValidatingWebhookConfigurations().Delete(ctx, name, remove); err != nil {
				return err
			}
			_, err := registration.ValidatingWebhookConfigurations().Create(ctx, configuration(name, name, denied), metav1.CreateOptions{DryRun: dry})
			return err
		},
		effect: refusedConfigMap,
	}})
}

// After the answer to a change of a CustomResourceDefinition, admission uses the change: the definition's versions
// are equivalent, policies use its schema, and quotas count its objects.
func TestEffectiveDefinitions(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	definitions := clusterResources(srv, "apiextensions.k8s.io/v1", "customresourcedefinitions")
	change := func(t *testing.T, name string, operations ...miniapitest.PatchOperation) {
		t.Helper()
		must(definitions.Patch(t.Context(), name+".example.com", types.JSONPatchType, must(json.Marshal(operations))(t), metav1.PatchOptions{}))(t)
	}
	t.Run("versions", func(t *testing.T) {
		t.Parallel()
		define(t, srv, "gadgets", "Gadget", "v1")
		recorder := install(t, srv, mutating("gadgets", allow(), matchPolicy(equivalent), on("CREATE", "example.com/v1", "gadgets")))
		must(resources(srv, "example.com/v1", "gadgets").Create(t.Context(), object("example.com/v1", "Gadget", "first", nil), metav1.CreateOptions{}))(t)
		for i := 2; i <= 6; i++ {
			version := fmt.Sprintf("v%d", i)
			recorder.Reset()
			change(t, "gadgets", miniapitest.Add("/spec/versions/-", map[string]any{"name": version, "served": true, "storage": false, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			}}))
			must(resources(srv, "example.com/"+version, "gadgets").Create(t.Context(), object("example.com/"+version, "Gadget", version, nil), metav1.CreateOptions{}))(t)
			if diff := cmp.Diff([]string{"gadgets"}, called(recorder)); diff != "" {
				t.Errorf("calls for %s (-want +got):\n%s", version, diff)
			}
		}
	})
	t.Run("schema", func(t *testing.T) {
		t.Parallel()
		define(t, srv, "forms", "Form", "v1")
		for i := range 5 {
			field := fmt.Sprintf("field%d", i)
			change(t, "forms", miniapitest.Add("/spec/versions/0/schema/openAPIV3Schema/properties/"+field, map[string]any{"type": "string"}))
			spec := mutations(applies(fmt.Sprintf("Object{%s: 'set'}", field)))
			spec.MatchConstraints = matchResources("CREATE", "example.com/v1", "forms")
			mutate(t, srv, field, spec, nil)
			created := must(resources(srv, "example.com/v1", "forms").Create(t.Context(), object("example.com/v1", "Form", field, nil), metav1.CreateOptions{}))(t)
			if got := created.Object[field]; got != "set" {
				t.Errorf("%s is %v, want what the policy applies by the definition as it has become", field, got)
			}
		}
	})
	t.Run("quota", func(t *testing.T) {
		t.Parallel()
		for i := range 5 {
			name := fmt.Sprintf("count%ds", i)
			define(t, srv, name, fmt.Sprintf("Count%d", i), "v1")
			one := corev1.ResourceList{corev1.ResourceName("count/" + name + ".example.com"): resource.MustParse("1")}
			none := corev1.ResourceList{corev1.ResourceName("count/" + name + ".example.com"): resource.MustParse("0")}
			quotas := srv.Client().CoreV1().ResourceQuotas(metav1.NamespaceDefault)
			quota := must(quotas.Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: named(name), Spec: corev1.ResourceQuotaSpec{Hard: one}}, metav1.CreateOptions{}))(t)
			quota.Status = corev1.ResourceQuotaStatus{Hard: one, Used: none}
			must(quotas.UpdateStatus(t.Context(), quota, metav1.UpdateOptions{}))(t)
			client := resources(srv, "example.com/v1", name)
			must(client.Create(t.Context(), object("example.com/v1", fmt.Sprintf("Count%d", i), "first", nil), metav1.CreateOptions{}))(t)
			_, err := client.Create(t.Context(), object("example.com/v1", fmt.Sprintf("Count%d", i), "second", nil), metav1.CreateOptions{})
			want := fmt.Sprintf(`%s.example.com "second" is forbidden: exceeded quota: %[1]s, requested: count/%[1]s.example.com=1, used: count/%[1]s.example.com=1, limited: count/%[1]s.example.com=1`, name)
			if diff := cmp.Diff(want, statusOf(err).Message); diff != "" {
				t.Errorf("refusal (-want +got):\n%s", diff)
			}
		}
	})
}
