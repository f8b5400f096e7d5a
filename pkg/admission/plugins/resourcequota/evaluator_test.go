package resourcequota

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

// UsageStats sums the usage of the objects of a lister, as a controller needs it.
func TestUsageStats(t *testing.T) {
	t.Parallel()
	objects := map[corev1.ResourceName]runtime.Object{
		"pods":                                 pod(nil, nil),
		"services":                             &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}},
		"persistentvolumeclaims":               volumeClaim(func(*corev1.PersistentVolumeClaim) {}),
		"count/resourceclaims.resource.k8s.io": deviceClaim(),
	}
	for name, object := range objects {
		resource := plugintest.Create(object).Attributes(t).GetResource().GroupResource()
		indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		if err := indexer.Add(object); err != nil {
			t.Fatal(err)
		}
		measured := Configuration(func(schema.GroupVersionResource) (cache.GenericLister, error) {
			return cache.NewGenericLister(indexer, resource), nil
		})
		for _, e := range measured.Evaluators() {
			if e.GroupResource() != resource {
				continue
			}
			stats, err := e.UsageStats(quota.UsageStatsOptions{Namespace: "ns", Resources: []corev1.ResourceName{name}})
			if err != nil {
				t.Fatal(err)
			}
			if used := stats.Used[name]; used.Value() != 1 {
				t.Errorf("%s: used %v, want one", name, stats.Used)
			}
		}
		if _, err := evaluatorFor(t, resource.String()).UsageStats(quota.UsageStatsOptions{Namespace: "ns"}); err == nil || !strings.Contains(err.Error(), "usage of "+resource.String()+" can't be measured without listers") {
			t.Errorf("%s without a lister: error %v", resource, err)
		}
	}
}

// Each kind counts only its own resources of a quota.
func TestMatchingResources(t *testing.T) {
	t.Parallel()
	counted := map[string][]corev1.ResourceName{
		"pods": {"pods", "count/pods", "cpu", "requests.cpu", "limits.cpu", "memory", "requests.memory", "limits.memory",
			"ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage",
			"hugepages-2Mi", "requests.hugepages-2Mi", "requests.example.com/gpu", "requests.deviceclass.resource.kubernetes.io/gpu"},
		"services": {"services", "count/services", "services.nodeports", "services.loadbalancers"},
		"persistentvolumeclaims": {"persistentvolumeclaims", "count/persistentvolumeclaims", "requests.storage",
			"gold.storageclass.storage.k8s.io/persistentvolumeclaims", "gold.storageclass.storage.k8s.io/requests.storage"},
		"resourceclaims.resource.k8s.io": {"count/resourceclaims.resource.k8s.io", "gpu.deviceclass.resource.k8s.io/devices"},
	}
	all := []corev1.ResourceName{"count/nodes", "secrets", "example.com/gpu", "limits.example.com/gpu", "limits.hugepages-2Mi", "requests.kubernetes.io/x", "limits.storage"}
	for _, resource := range slices.Sorted(maps.Keys(counted)) {
		all = append(all, counted[resource]...)
	}
	for resource, want := range counted {
		if diff := cmp.Diff(want, evaluatorFor(t, resource).MatchingResources(all)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", resource, diff)
		}
	}
}

// The plugin evaluates creations of objects, and updates that may change the usage. As kube-apiserver does, it also
// evaluates each update of a device claim.
func TestHandles(t *testing.T) {
	t.Parallel()
	claim := volumeClaim
	empty := claim(func(*corev1.PersistentVolumeClaim) {})
	status := func(change func(*corev1.PersistentVolumeClaim)) plugintest.Request {
		return plugintest.Update(empty, claim(change)).Of("status")
	}
	for _, test := range []struct {
		name, reason, resource string
		request                plugintest.Request
		want                   bool
	}{
		{name: "pod", reason: "a new pod counts", resource: "pods", request: plugintest.Create(pod(nil, nil)), want: true},
		{name: "pod changed", reason: "an update of the main endpoint can't change the requests of a pod",
			resource: "pods", request: plugintest.Update(pod(nil, nil), pod(nil, nil))},
		{name: "pod gets a deadline", reason: "other quotas count a pod that ends by itself", resource: "pods",
			request: plugintest.Update(pod(nil, nil), withDeadline(pod(nil, nil))), want: true},
		{name: "pod with a deadline changed", reason: "the same quotas count the pod as before", resource: "pods",
			request: plugintest.Update(withDeadline(pod(nil, nil)), withDeadline(pod(nil, nil)))},
		{name: "pod resized", reason: "a resize can change the requests of a pod", resource: "pods",
			request: plugintest.Update(pod(nil, nil), pod(nil, nil)).Of("resize"), want: true},
		{name: "pod bound", reason: "a binding doesn't change the requests of a pod", resource: "pods",
			request: plugintest.Create(pod(nil, nil)).Of("binding")},
		{name: "service", reason: "a new service counts", resource: "services", request: plugintest.Create(&corev1.Service{}), want: true},
		{name: "service changed", reason: "the update may change the type of the service", resource: "services",
			request: plugintest.Update(&corev1.Service{}, &corev1.Service{}), want: true},
		{name: "service's status", reason: "the status of a service doesn't count", resource: "services",
			request: plugintest.Update(&corev1.Service{}, &corev1.Service{}).Of("status")},
		{name: "service gone", reason: "a controller, and not admission, subtracts a deleted service",
			resource: "services", request: plugintest.Delete(&corev1.Service{})},
		{name: "device claim", reason: "a new device claim counts", resource: "resourceclaims.resource.k8s.io",
			request: plugintest.Create(deviceClaim()), want: true},
		{name: "device claim changed", reason: "kube-apiserver counts the claim again, too",
			resource: "resourceclaims.resource.k8s.io", request: plugintest.Update(deviceClaim(), deviceClaim()),
			want: true},
		{name: "device claim gone", reason: "a controller, and not admission, subtracts a deleted claim",
			resource: "resourceclaims.resource.k8s.io", request: plugintest.Delete(deviceClaim())},
		{name: "device claim's status", reason: "the quota has counted the largest possible allocation",
			resource: "resourceclaims.resource.k8s.io",
			request:  plugintest.Update(deviceClaim(), deviceClaim()).Of("status")},
		{name: "claim", reason: "a new claim counts", resource: "persistentvolumeclaims", request: plugintest.Create(empty), want: true},
		{name: "claim changed", reason: "a claim can request more than before", resource: "persistentvolumeclaims",
			request: plugintest.Update(empty, empty), want: true},
		{name: "claim gone", reason: "a controller, and not admission, subtracts a deleted claim",
			resource: "persistentvolumeclaims", request: plugintest.Delete(empty)},
		{name: "claim's other subresource", reason: "an unknown subresource doesn't change the usage",
			resource: "persistentvolumeclaims", request: plugintest.Update(empty, empty).Of("x")},
		{name: "claim's status", reason: "no field that counts has changed", resource: "persistentvolumeclaims",
			request: status(func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimBound })},
		{name: "claim's volume has grown", reason: "the allocated storage counts", resource: "persistentvolumeclaims", want: true,
			request: status(func(c *corev1.PersistentVolumeClaim) { c.Status.AllocatedResources = list("storage", "1Gi") })},
		{name: "claim has another class", reason: "a quota may be for a single class", resource: "persistentvolumeclaims", want: true,
			request: status(func(c *corev1.PersistentVolumeClaim) { c.Status.CurrentVolumeAttributesClassName = new("fast") })},
		{name: "claim gets another class", reason: "a quota may be for a single class", resource: "persistentvolumeclaims", want: true,
			request: status(func(c *corev1.PersistentVolumeClaim) {
				c.Status.ModifyVolumeStatus = &corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: "fast"}
			})},
	} {
		if got := evaluatorFor(t, test.resource).Handles(test.request.Attributes(t)); got != test.want {
			t.Errorf("%s: %t, want %t: %s", test.name, got, test.want, test.reason)
		}
	}
}

// Scopes select the objects that a quota, or a limit in the plugin's configuration, applies to.
func TestScopes(t *testing.T) {
	t.Parallel()
	with := func(change func(*corev1.Pod)) *corev1.Pod {
		pod := pod(nil, nil)
		change(pod)
		return pod
	}
	deadline := func(seconds int64) *corev1.Pod {
		return with(func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = &seconds })
	}
	affinity := func(a corev1.Affinity) *corev1.Pod { return with(func(p *corev1.Pod) { p.Spec.Affinity = &a }) }
	elsewhere := corev1.PodAffinityTerm{Namespaces: []string{"other"}}
	anywhere := corev1.PodAffinityTerm{NamespaceSelector: &metav1.LabelSelector{}}
	important := with(func(p *corev1.Pod) { p.Spec.PriorityClassName = "high" })
	claim := volumeClaim(func(c *corev1.PersistentVolumeClaim) {
		c.Spec.VolumeAttributesClassName, c.Status.CurrentVolumeAttributesClassName = new("wanted"), new("present")
		c.Status.ModifyVolumeStatus = &corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: "target"}
	})
	classless := volumeClaim(func(c *corev1.PersistentVolumeClaim) {
		c.Spec.VolumeAttributesClassName, c.Status.ModifyVolumeStatus = new(""), &corev1.ModifyVolumeStatus{}
	})
	const exists, doesNotExist, in, notIn = corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist, corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn
	const priority, attributes, crossing = corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeVolumeAttributesClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity

	tests := []struct {
		name, reason string
		object       runtime.Object
		scope        corev1.ResourceQuotaScope
		operator     corev1.ScopeSelectorOperator
		values       []string
		want         bool
		err          string
	}{
		{name: "deadline", reason: "the pod ends by itself", object: deadline(0), scope: corev1.ResourceQuotaScopeTerminating, want: true},
		{name: "no deadline", reason: "the pod goes on", object: pod(nil, nil), scope: corev1.ResourceQuotaScopeTerminating},
		{name: "not terminating", reason: "the pod goes on", object: pod(nil, nil),
			scope: corev1.ResourceQuotaScopeNotTerminating, want: true},
		{name: "terminating", reason: "the pod ends by itself", object: deadline(1), scope: corev1.ResourceQuotaScopeNotTerminating},
		{name: "best effort", reason: "the pod requests neither CPU nor memory", object: pod(nil, nil),
			scope: corev1.ResourceQuotaScopeBestEffort, want: true},
		{name: "better than best effort", reason: "the pod requests CPU", object: pod(list("cpu", "1"), nil),
			scope: corev1.ResourceQuotaScopeBestEffort},
		{name: "not best effort", reason: "the pod requests CPU", object: pod(list("cpu", "1"), nil),
			scope: corev1.ResourceQuotaScopeNotBestEffort, want: true},
		{name: "not better", reason: "the pod requests neither CPU nor memory", object: pod(nil, nil),
			scope: corev1.ResourceQuotaScopeNotBestEffort},
		{name: "said to be best effort", reason: "the class of a pod doesn't change", scope: corev1.ResourceQuotaScopeBestEffort, want: true,
			object: with(func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests, p.Status.QOSClass = list("cpu", "1"), corev1.PodQOSBestEffort
			})},

		{name: "priority", reason: "the pod has a priority class", object: important, scope: priority, operator: exists, want: true},
		{name: "no priority", reason: "the pod has no priority class", object: pod(nil, nil), scope: priority, operator: exists},
		{name: "without priority", reason: "the pod has no priority class", object: pod(nil, nil), scope: priority,
			operator: doesNotExist, want: true},
		{name: "with priority", reason: "the pod has a priority class", object: important, scope: priority, operator: doesNotExist},
		{name: "named priority", reason: "the list of values has the priority class of the pod", object: important,
			scope: priority, operator: in, values: []string{"low", "high"}, want: true},
		{name: "other priority", reason: "the list of values lacks the priority class of the pod", object: important,
			scope: priority, operator: in, values: []string{"low"}},
		{name: "excluded priority", reason: "the list of excluded values has the priority class of the pod",
			object: important, scope: priority, operator: notIn, values: []string{"high"}},
		{name: "priority that isn't excluded",
			reason: "the list of excluded values lacks the priority class of the pod", object: important,
			scope: priority, operator: notIn, values: []string{"low"}, want: true},
		{name: "unknown operator", reason: "a selector needs a known operator", object: important, scope: priority,
			operator: "Like", err: `"Like" is not a valid scope selector operator`},
		{name: "no values", reason: "the operator In needs values", object: important, scope: priority, operator: in,
			err: "failed to parse and convert selector: values"},

		{name: "no affinity", reason: "the pod has no affinity to other pods", object: pod(nil, nil), scope: crossing},
		{name: "affinity at home", reason: "the pod's own namespace is meant", scope: crossing,
			object: affinity(corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{}}}})},
		{name: "required affinity", reason: "the affinity is to pods of a named namespace", scope: crossing, want: true,
			object: affinity(corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{}, elsewhere}}})},
		{name: "preferred affinity", reason: "the affinity is to pods of any namespace", scope: crossing, want: true,
			object: affinity(corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{PodAffinityTerm: anywhere}}}})},
		{name: "required anti-affinity", reason: "the affinity is to pods of any namespace", scope: crossing, want: true,
			object: affinity(corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{anywhere}}})},
		{name: "preferred anti-affinity", reason: "the affinity is to pods of a named namespace", scope: crossing, want: true,
			object: affinity(corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{PodAffinityTerm: elsewhere}}}})},

		{name: "wanted class", reason: "the claim requests the class", object: claim, scope: attributes, operator: in,
			values: []string{"wanted"}, want: true},
		{name: "present class", reason: "the volume has the class", object: claim, scope: attributes, operator: in,
			values: []string{"present"}, want: true},
		{name: "target class", reason: "the volume is about to get the class", object: claim, scope: attributes,
			operator: in, values: []string{"target"}, want: true},
		{name: "other class", reason: "the claim has another class", object: claim, scope: attributes, operator: in,
			values: []string{"other"}},
		{name: "no class", reason: "an empty name stands for no class", object: classless, scope: attributes, operator: exists},
		{name: "without class", reason: "an empty name stands for no class", object: classless, scope: attributes,
			operator: doesNotExist, want: true},

		{name: "other scope of pods", reason: "pods have no attributes classes", object: pod(nil, nil),
			scope: attributes, operator: doesNotExist},
		{name: "other scope of claims", reason: "claims have no priority", object: claim, scope: priority, operator: doesNotExist},
		{name: "services", reason: "services have no scopes", object: &corev1.Service{}, scope: priority, operator: doesNotExist},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			resource := plugintest.Create(test.object).Attributes(t).GetResource().GroupResource().String()
			scope := corev1.ScopedResourceSelectorRequirement{ScopeName: test.scope, Operator: test.operator, Values: test.values}
			got, err := evaluatorFor(t, resource).MatchingScopes(test.object, []corev1.ScopedResourceSelectorRequirement{scope})
			plugintest.Want(t, err, test.err)
			var want []corev1.ScopedResourceSelectorRequirement
			if test.want {
				want = append(want, scope)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// The plugin's configuration can require that a quota covers a pod. A quota with a scope covers every requirement for
// the same scope, even if the operators and values differ.
func TestLimitedScopes(t *testing.T) {
	t.Parallel()
	scope := corev1.ScopedResourceSelectorRequirement{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpExists}
	other := corev1.ScopedResourceSelectorRequirement{ScopeName: corev1.ResourceQuotaScopeTerminating, Operator: corev1.ScopeSelectorOpExists}
	limited := []corev1.ScopedResourceSelectorRequirement{scope, other}
	covered := scope
	covered.Operator, covered.Values = corev1.ScopeSelectorOpIn, []string{"high"}
	got, err := evaluatorFor(t, "pods").UncoveredQuotaScopes(limited, []corev1.ScopedResourceSelectorRequirement{covered})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]corev1.ScopedResourceSelectorRequirement{other}, got); diff != "" {
		t.Errorf("a quota covers all limits of its scopes (-want +got):\n%s", diff)
	}
}

func TestIgnored(t *testing.T) {
	t.Parallel()
	var got []string
	for resource := range Configuration(nil).IgnoredResources() {
		got = append(got, resource.String())
	}
	slices.Sort(got)
	want := []string{"bindings", "componentstatuses", "events", "events.events.k8s.io", "localsubjectaccessreviews.authorization.k8s.io",
		"selfsubjectaccessreviews.authorization.k8s.io", "selfsubjectreviews.authentication.k8s.io",
		"selfsubjectrulesreviews.authorization.k8s.io",
		"subjectaccessreviews.authorization.k8s.io", "tokenreviews.authentication.k8s.io"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
