package integration_test

import (
	"context"
	"encoding/json"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// effectiveRounds is the number of times that each setting is turned on and off. A server with a bug may answer before
// the effect only in some of the rounds.
const effectiveRounds = 50

// setting is an object that configures the server, such as a webhook configuration or a quota. A test can create and
// delete the object.
type setting struct {
	name, reason string
	// prepare is called once, in a namespace named after the test.
	prepare func(ctx context.Context, name string) error
	on, off func(ctx context.Context, name string) error
	effect  func(ctx context.Context, name string) (bool, error)
}

// takeEffect turns each setting on and off. After the server answers such a change, the next request must already be
// subject to it.
func takeEffect(t *testing.T, srv *miniapitest.Server, tests []setting) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			must(srv.Client().CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: named(test.name)}, metav1.CreateOptions{}))(t)
			if test.prepare != nil {
				ok(t, test.prepare(ctx, test.name))
			}
			for round := range effectiveRounds {
				ok(t, test.on(ctx, test.name))
				if effective := must(test.effect(ctx, test.name))(t); !effective {
					t.Fatalf("round %d: %s isn't in force yet", round, test.reason)
				}
				ok(t, test.off(ctx, test.name))
				if effective := must(test.effect(ctx, test.name))(t); effective {
					t.Fatalf("round %d: %s is still in force", round, test.reason)
				}
			}
		})
	}
}

// When the server answers the creation of an object that configures it, such as a policy or a role, the object applies
// to the next request. When the server answers the deletion, the object no longer applies.
func TestEffective(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	client := srv.Client()
	user := clientOf(t, srv, "somebody")
	denied := srv.Webhook("/deny", deny("no")).ClientConfig()

	// within returns a selector for the namespace with the name.
	within := func(namespace string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
	}
	webhook := func(namespace string, operations string) *admissionregistrationv1.ValidatingWebhookConfiguration {
		h := validating(namespace, nil, on(operations, "v1", "configmaps"))
		h.ClientConfig, h.NamespaceSelector = denied, within(namespace)
		return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: named(namespace), Webhooks: []admissionregistrationv1.ValidatingWebhook{h.validating()}}
	}
	policy := func(namespace string) *admissionregistrationv1.ValidatingAdmissionPolicy {
		spec := validations(admissionregistrationv1.Validation{Expression: "false"})
		spec.MatchConstraints = matchResources("CREATE", "v1", "configmaps")
		spec.MatchConstraints.NamespaceSelector = within(namespace)
		return &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named(namespace), Spec: spec}
	}
	bound := func(name string) *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
		spec := binding(admissionregistrationv1.Deny)
		spec.PolicyName = name
		return &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: named(name), Spec: spec}
	}
	// configMapRefused tells whether the creation of a ConfigMap is refused.
	configMapRefused := func(ctx context.Context, namespace string) (bool, error) {
		_, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: named("m")}, metav1.CreateOptions{DryRun: dry})
		return err != nil, ignoreRefusal(err)
	}
	created := func(ctx context.Context, namespace string, change func(*corev1.Pod)) (*corev1.Pod, error) {
		p := pod("p")
		change(p)
		return client.CoreV1().Pods(namespace).Create(ctx, p, metav1.CreateOptions{DryRun: dry})
	}
	registration := client.AdmissionregistrationV1()
	create, remove := metav1.CreateOptions{}, metav1.DeleteOptions{}

	takeEffect(t, srv, []setting{{
		name: "webhook", reason: "a webhook configuration",
		on: func(ctx context.Context, name string) error {
			_, err := registration.ValidatingWebhookConfigurations().Create(ctx, webhook(name, "CREATE"), create)
			return err
		},
		off: func(ctx context.Context, name string) error {
			return registration.ValidatingWebhookConfigurations().Delete(ctx, name, remove)
		},
		effect: configMapRefused,
	}, {
		name: "webhook-rules", reason: "an update changes the rules of an existing webhook",
		prepare: func(ctx context.Context, name string) error {
			_, err := registration.ValidatingWebhookConfigurations().Create(ctx, webhook(name, "UPDATE"), create)
			return err
		},
		on: func(ctx context.Context, name string) error {
			_, err := registration.ValidatingWebhookConfigurations().Patch(ctx, name, types.JSONPatchType, []byte(`[{"op":"replace","path":"/webhooks/0/rules/0/operations","value":["CREATE"]}]`), metav1.PatchOptions{})
			return err
		},
		off: func(ctx context.Context, name string) error {
			_, err := registration.ValidatingWebhookConfigurations().Patch(ctx, name, types.JSONPatchType, []byte(`[{"op":"replace","path":"/webhooks/0/rules/0/operations","value":["UPDATE"]}]`), metav1.PatchOptions{})
			return err
		},
		effect: configMapRefused,
	}, {
		name: "policy", reason: "a policy that is bound",
		prepare: func(ctx context.Context, name string) error {
			_, err := registration.ValidatingAdmissionPolicyBindings().Create(ctx, bound(name), create)
			return err
		},
		on: func(ctx context.Context, name string) error {
			_, err := registration.ValidatingAdmissionPolicies().Create(ctx, policy(name), create)
			return err
		},
		off: func(ctx context.Context, name string) error {
			return registration.ValidatingAdmissionPolicies().DeleteCollection(ctx, remove, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		},
		effect: configMapRefused,
	}, {
		name: "binding", reason: "a binding of a policy",
		prepare: func(ctx context.Context, name string) error {
			_, err := registration.ValidatingAdmissionPolicies().Create(ctx, policy(name), create)
			return err
		},
		on: func(ctx context.Context, name string) error {
			_, err := registration.ValidatingAdmissionPolicyBindings().Create(ctx, bound(name), create)
			return err
		},
		off: func(ctx context.Context, name string) error {
			return registration.ValidatingAdmissionPolicyBindings().Delete(ctx, name, remove)
		},
		effect: configMapRefused,
	}, {
		name: "mutating-policy", reason: "a policy that changes objects",
		prepare: func(ctx context.Context, name string) error {
			_, err := registration.MutatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.MutatingAdmissionPolicyBinding{
				ObjectMeta: named(name), Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name},
			}, create)
			return err
		},
		on: func(ctx context.Context, name string) error {
			spec := mutations(applies(`Object{metadata: Object.metadata{labels: {"mutated": "true"}}}`))
			spec.ReinvocationPolicy = admissionregistrationv1.NeverReinvocationPolicy
			spec.MatchConstraints = matchResources("CREATE", "v1", "pods")
			spec.MatchConstraints.NamespaceSelector = within(name)
			_, err := registration.MutatingAdmissionPolicies().Create(ctx, &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: named(name), Spec: spec}, create)
			return err
		},
		off: func(ctx context.Context, name string) error {
			return registration.MutatingAdmissionPolicies().Delete(ctx, name, remove)
		},
		effect: func(ctx context.Context, name string) (bool, error) {
			got, err := created(ctx, name, func(*corev1.Pod) {})
			return err == nil && got.Labels["mutated"] == "true", err
		},
	}, {
		name: "namespace-labels", reason: "the labels by which webhooks select namespaces",
		prepare: func(ctx context.Context, name string) error {
			configuration := webhook(name, "CREATE")
			configuration.Webhooks[0].NamespaceSelector.MatchLabels["watched"] = "true"
			_, err := registration.ValidatingWebhookConfigurations().Create(ctx, configuration, create)
			return err
		},
		on: func(ctx context.Context, name string) error {
			_, err := client.CoreV1().Namespaces().Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":{"watched":"true"}}}`), metav1.PatchOptions{})
			return err
		},
		off: func(ctx context.Context, name string) error {
			_, err := client.CoreV1().Namespaces().Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":{"watched":null}}}`), metav1.PatchOptions{})
			return err
		},
		effect: configMapRefused,
	}, {
		name: "role-binding", reason: "a role binding gives permissions to a user",
		prepare: func(ctx context.Context, name string) error {
			_, err := client.RbacV1().Roles(name).Create(ctx, &rbacv1.Role{ObjectMeta: named(name), Rules: []rbacv1.PolicyRule{rbacRule("", "list", "configmaps")}}, create)
			return err
		},
		on: func(ctx context.Context, name string) error {
			_, err := client.RbacV1().RoleBindings(name).Create(ctx, roleBinding(name), create)
			return err
		},
		off: func(ctx context.Context, name string) error {
			return client.RbacV1().RoleBindings(name).Delete(ctx, name, remove)
		},
		effect: func(ctx context.Context, name string) (bool, error) {
			_, err := user.CoreV1().ConfigMaps(name).List(ctx, metav1.ListOptions{})
			return err == nil, ignoreRefusal(err)
		},
	}, {
		name: "role", reason: "a role gives permissions to its users",
		prepare: func(ctx context.Context, name string) error {
			_, err := client.RbacV1().RoleBindings(name).Create(ctx, roleBinding(name), create)
			return err
		},
		on: func(ctx context.Context, name string) error {
			_, err := client.RbacV1().Roles(name).Create(ctx, &rbacv1.Role{ObjectMeta: named(name), Rules: []rbacv1.PolicyRule{rbacRule("", "list", "configmaps")}}, create)
			return err
		},
		off: func(ctx context.Context, name string) error {
			return client.RbacV1().Roles(name).Delete(ctx, name, remove)
		},
		effect: func(ctx context.Context, name string) (bool, error) {
			_, err := user.CoreV1().ConfigMaps(name).List(ctx, metav1.ListOptions{})
			return err == nil, ignoreRefusal(err)
		},
	}, {
		name: "limit-range", reason: "the defaults of a namespace",
		on: func(ctx context.Context, name string) error {
			_, err := client.CoreV1().LimitRanges(name).Create(ctx, &corev1.LimitRange{ObjectMeta: named(name), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
				Type: corev1.LimitTypeContainer, Default: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
			}}}}, create)
			return err
		},
		off: func(ctx context.Context, name string) error {
			return client.CoreV1().LimitRanges(name).Delete(ctx, name, remove)
		},
		effect: func(ctx context.Context, name string) (bool, error) {
			got, err := created(ctx, name, func(*corev1.Pod) {})
			return err == nil && !got.Spec.Containers[0].Resources.Limits.Memory().IsZero(), err
		},
	}, {
		name: "quota", reason: "the quota of a namespace",
		prepare: func(ctx context.Context, name string) error {
			_, err := client.CoreV1().ResourceQuotas(name).Create(ctx, quotaOf(name, "10"), create)
			return err
		},
		on: func(ctx context.Context, name string) error {
			_, err := client.CoreV1().ResourceQuotas(name).UpdateStatus(ctx, quotaOf(name, "0"), metav1.UpdateOptions{})
			return err
		},
		off: func(ctx context.Context, name string) error {
			_, err := client.CoreV1().ResourceQuotas(name).UpdateStatus(ctx, quotaOf(name, "10"), metav1.UpdateOptions{})
			return err
		},
		effect: configMapRefused,
	}, {
		name: "priority-class", reason: "the classes that pods name",
		on: func(ctx context.Context, name string) error {
			_, err := client.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{ObjectMeta: named(name), Value: 7}, create)
			return err
		},
		off: func(ctx context.Context, name string) error {
			return client.SchedulingV1().PriorityClasses().Delete(ctx, name, remove)
		},
		effect: func(ctx context.Context, name string) (bool, error) {
			_, err := created(ctx, name, func(p *corev1.Pod) { p.Spec.PriorityClassName = name })
			return err == nil, ignoreRefusal(err)
		},
	}, {
		name: "runtime-class", reason: "the runtime class that a pod names",
		on: func(ctx context.Context, name string) error {
			_, err := client.NodeV1().RuntimeClasses().Create(ctx, &nodev1.RuntimeClass{ObjectMeta: named(name), Handler: "h"}, create)
			return err
		},
		off: func(ctx context.Context, name string) error {
			return client.NodeV1().RuntimeClasses().Delete(ctx, name, remove)
		},
		effect: func(ctx context.Context, name string) (bool, error) {
			_, err := created(ctx, name, func(p *corev1.Pod) { p.Spec.RuntimeClassName = &name })
			return err == nil, ignoreRefusal(err)
		},
	}, {
		name: "storage-class", reason: "classes that are used by default",
		on: func(ctx context.Context, name string) error {
			_, err := client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
				ObjectMeta: metav1.ObjectMeta{Name: name,
					Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
				Provisioner: "example.com/p",
			}, create)
			return err
		},
		off: func(ctx context.Context, name string) error {
			return client.StorageV1().StorageClasses().Delete(ctx, name, remove)
		},
		effect: func(ctx context.Context, name string) (bool, error) {
			got, err := client.CoreV1().PersistentVolumeClaims(name).Create(ctx, claim("c"), metav1.CreateOptions{DryRun: dry})
			return err == nil && got.Spec.StorageClassName != nil, err
		},
	}, {
		name: "ingress-class", reason: "the ingress class that is used by default",
		on: func(ctx context.Context, name string) error {
			_, err := client.NetworkingV1().IngressClasses().Create(ctx, &networkingv1.IngressClass{
				ObjectMeta: metav1.ObjectMeta{Name: name,
					Annotations: map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true"}},
				Spec: networkingv1.IngressClassSpec{Controller: "example.com/c"},
			}, create)
			return err
		},
		off: func(ctx context.Context, name string) error {
			return client.NetworkingV1().IngressClasses().Delete(ctx, name, remove)
		},
		effect: func(ctx context.Context, name string) (bool, error) {
			got, err := client.NetworkingV1().Ingresses(name).Create(ctx, ingress("i"), metav1.CreateOptions{DryRun: dry})
			return err == nil && got.Spec.IngressClassName != nil, err
		},
	}})
}

// ignoreRefusal returns an error, or nil if the error is a refusal or the resource isn't found.
func ignoreRefusal(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func roleBinding(name string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: named(name), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "somebody"}},
	}
}

// quotaOf returns a quota for ConfigMaps, with the status that the controller of quotas would write.
func quotaOf(name, configMaps string) *corev1.ResourceQuota {
	hard := corev1.ResourceList{"count/configmaps": resource.MustParse(configMaps)}
	return &corev1.ResourceQuota{
		ObjectMeta: named(name), Spec: corev1.ResourceQuotaSpec{Hard: hard},
		Status: corev1.ResourceQuotaStatus{Hard: hard, Used: corev1.ResourceList{"count/configmaps": resource.MustParse("0")}},
	}
}

func claim(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: named(name), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
}

func ingress(name string) *networkingv1.Ingress {
	return &networkingv1.Ingress{ObjectMeta: named(name), Spec: networkingv1.IngressSpec{
		DefaultBackend: &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "s", Port: networkingv1.ServiceBackendPort{Number: 80}}},
	}}
}

// After the answer to the creation of a namespace, objects can be created in it.
func TestEffectiveNamespace(t *testing.T) {
	t.Parallel()
	client := miniapitest.Start(t).Client()
	for round := range effectiveRounds {
		name := "round-" + strconv.Itoa(round)
		must(client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: named(name)}, metav1.CreateOptions{}))(t)
		must(client.CoreV1().ConfigMaps(name).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named("m")}, metav1.CreateOptions{}))(t)
		ok(t, client.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}))
		_, err := client.CoreV1().ConfigMaps(name).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named("late")}, metav1.CreateOptions{})
		if !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
			t.Fatalf("round %d: want nothing to be created in a namespace that ends, got %v", round, err)
		}
	}
}

// After the answer to the creation of a CustomResourceDefinition, its custom resources are served and discovered, with
// their schema. After the answer to its deletion, no custom resource can be created, and existing custom resources are
// served until they are deleted.
func TestEffectiveCustomResource(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	widgets := resources(srv, "example.com/v1", "widgets")
	definitions := clusterResources(srv, "apiextensions.k8s.io/v1", "customresourcedefinitions")
	invalid := object("example.com/v1", "Widget", "w", map[string]any{"spec": "not an object"})
	anything, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec", "value": map[string]any{"type": "string"}}})
	ok(t, err)
	for round := range effectiveRounds / 5 {
		define(t, srv, "widgets", "Widget", "v1")
		must(widgets.Create(t.Context(), object("example.com/v1", "Widget", "first", nil), metav1.CreateOptions{}))(t)
		if _, err := widgets.Create(t.Context(), invalid, metav1.CreateOptions{DryRun: dry}); !apierrors.IsInvalid(err) {
			t.Fatalf("round %d: want the schema in force, got %v", round, err)
		}
		must(definitions.Patch(t.Context(), "widgets.example.com", types.JSONPatchType, anything, metav1.PatchOptions{}))(t)
		must(widgets.Create(t.Context(), invalid, metav1.CreateOptions{DryRun: dry}))(t)
		listed := must(srv.Client().Discovery().ServerResourcesForGroupVersion("example.com/v1"))(t)
		if len(listed.APIResources) == 0 {
			t.Fatalf("round %d: nothing is discovered", round)
		}
		ok(t, definitions.Delete(t.Context(), "widgets.example.com", metav1.DeleteOptions{}))
		if _, err := widgets.Create(t.Context(), object("example.com/v1", "Widget", "last", nil), metav1.CreateOptions{}); !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
			t.Fatalf("round %d: want no more to be created, got %v", round, err)
		}
		var last error
		if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, last = widgets.List(ctx, metav1.ListOptions{})
			return apierrors.IsNotFound(last), nil
		}); err != nil {
			t.Fatalf("round %d: want it to be gone, got %v", round, last)
		}
	}
}

// If a webhook refuses the status of a CustomResourceDefinition, the definition isn't served, and the answer to its
// creation doesn't wait. When the webhook allows the status, the definition is served.
func TestEffectiveDefinitionWithoutStatus(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	var calls, awaited atomic.Int32
	answered := make(chan struct{})
	install(t, srv, validating("validate", miniapitest.AdmissionHandler(func(ctx context.Context, _ *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if calls.Add(1) == 1 {
			return miniapitest.Denied("not yet")
		}
		select {
		case <-answered:
		case <-ctx.Done():
			awaited.Add(1)
		}
		return miniapitest.Allowed()
	}), on("UPDATE", "apiextensions.k8s.io/v1", "customresourcedefinitions/status"), timeoutSeconds(8)))

	define(t, srv, "widgets", "Widget", "v1")
	close(answered)
	if awaited.Load() > 0 || calls.Load() == 0 {
		t.Errorf("want the answer after the webhook has refused the status, it was asked %d times until then", calls.Load())
	}
	eventually(t, func(ctx context.Context) error {
		_, err := resources(srv, "example.com/v1", "widgets").List(ctx, metav1.ListOptions{})
		return err
	})
}
