package disruption

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	scalefake "k8s.io/client-go/scale/fake"
	clienttesting "k8s.io/client-go/testing"
)

// controllerRef is a reference to a controller. The UID is the same as the name.
func controllerRef(apiVersion, kind, name string) *metav1.OwnerReference {
	return &metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(name), Controller: new(true)}
}

func podsOf(n int, owner *metav1.OwnerReference) (pods []*corev1.Pod) {
	for range n {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}
		if owner != nil {
			pod.OwnerReferences = []metav1.OwnerReference{*owner}
		}
		pods = append(pods, pod)
	}
	return pods
}

// newScales returns Scales with these controllers: a ReplicaSet without a Deployment, two ReplicaSets of one
// Deployment, and a custom resource without a scale. The second result is the number of requests for a scale.
func newScales(t *testing.T) (Scales, *int) {
	t.Helper()
	set := func(name string, owner *metav1.OwnerReference) *appsv1.ReplicaSet {
		s := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
		if owner != nil {
			s.OwnerReferences = []metav1.OwnerReference{*owner}
		}
		return s
	}
	deployment := controllerRef("apps/v1", "Deployment", "deployment")
	typed := fake.NewClientset(set("alone", nil), set("old", deployment), set("new", deployment))
	typed.Resources = []*metav1.APIResourceList{
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "replicasets/scale"}, {Name: "deployments/scale"}}},
		{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{{Name: "sets"}}},
	}
	asked := 0
	replicas := map[string]int32{"alone": 4, "deployment": 10}
	scales := &scalefake.FakeScaleClient{}
	scales.AddReactor("get", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		asked++
		name := action.(clienttesting.GetAction).GetName()
		n, ok := replicas[name]
		if !ok {
			return true, nil, apierrors.NewNotFound(action.GetResource().GroupResource(), name)
		}
		return true, &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: autoscalingv1.ScaleSpec{Replicas: n}}, nil
	})
	return Scales{
		ReplicaSets: typed.AppsV1(), Discovery: typed.Discovery(), Scale: scales,
		ResourceOf: func(kind schema.GroupVersionKind) (schema.GroupVersionResource, bool, error) {
			return kind.GroupVersion().WithResource(strings.ToLower(kind.Kind) + "s"), true, nil
		},
	}, &asked
}

func TestExpect(t *testing.T) {
	t.Parallel()
	number, percent := func(n int32) *intstr.IntOrString { return new(intstr.FromInt32(n)) }, func(s string) *intstr.IntOrString { return new(intstr.FromString(s)) }
	alone, old, replaced := controllerRef("apps/v1", "ReplicaSet", "alone"), controllerRef("apps/v1", "ReplicaSet", "old"), controllerRef("apps/v1", "ReplicaSet", "new")
	for _, test := range []struct {
		name, reason string
		spec         policyv1.PodDisruptionBudgetSpec
		pods         []*corev1.Pod
		want         expected
		err          string
		asked        int
	}{
		{"number available", "the pods are counted", policyv1.PodDisruptionBudgetSpec{MinAvailable: number(2)},
			podsOf(3, nil), expected{pods: 3, healthy: 2}, "", 0},
		{"neither", "the budget limits nothing", policyv1.PodDisruptionBudgetSpec{}, podsOf(3, nil), expected{}, "", 0},
		{"per cent available", "the percentage is of the controller's replicas, rounded up",
			policyv1.PodDisruptionBudgetSpec{MinAvailable: percent("30%")}, podsOf(2, alone),
			expected{pods: 4, healthy: 2}, "", 1},
		{"per cent unavailable", "the percentage of the controller's replicas is rounded up",
			policyv1.PodDisruptionBudgetSpec{MaxUnavailable: percent("30%")}, podsOf(4, alone),
			expected{pods: 4, healthy: 2}, "", 1},
		{"more unavailable than pods", "no number is below zero",
			policyv1.PodDisruptionBudgetSpec{MaxUnavailable: number(9)}, podsOf(4, alone), expected{pods: 4}, "", 1},
		{"several controllers", "each controller counts once, and a Deployment counts instead of its ReplicaSets",
			policyv1.PodDisruptionBudgetSpec{MaxUnavailable: number(1)},
			append(append(podsOf(5, old), podsOf(5, replaced)...), podsOf(2, alone)...),
			expected{pods: 14, healthy: 13}, "", 3},
		{"unmanaged", "a pod without a controller isn't counted",
			policyv1.PodDisruptionBudgetSpec{MaxUnavailable: number(1)}, append(podsOf(1, nil), podsOf(1, alone)...),
			expected{pods: 4, healthy: 3, unmanaged: true}, "", 1},
		{"gone", "the number of replicas isn't known without the controller",
			policyv1.PodDisruptionBudgetSpec{MaxUnavailable: number(1)},
			podsOf(1, controllerRef("apps/v1", "ReplicaSet", "none")), expected{}, "found no controllers for pod", 0},
		{"another of the name", "a ReplicaSet with another UID isn't the controller of the pod",
			policyv1.PodDisruptionBudgetSpec{MaxUnavailable: number(1)},
			podsOf(1, &metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "alone", UID: "former", Controller: new(true)}),
			expected{}, "found no controllers for pod", 0},
		{"no scale", "the kind has no number of replicas", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: number(1)},
			podsOf(1, controllerRef("example.com/v1", "Set", "s")), expected{},
			"sets.example.com does not implement the scale subresource", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			scales, asked := newScales(t)
			c := &controller{Config: Config{Scales: scales}}
			got, err := c.expect(t.Context(), &policyv1.PodDisruptionBudget{Spec: test.spec}, test.pods)
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("%s: want error %q, got %v", test.reason, test.err, err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(expected{})); diff != "" && test.err == "" {
				t.Errorf("%s: what is expected differs (-want +got):\n%s", test.reason, diff)
			}
			if *asked != test.asked {
				t.Errorf("%s: want %d scales to be read, got %d", test.reason, test.asked, *asked)
			}
		})
	}
}

// ready returns a pod whose condition Ready is true.
func ready(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
}

// For deletionTimeout after its eviction, a pod doesn't count as healthy. Afterwards, the pod counts as healthy again if
// its deletion hasn't begun.
func TestDisrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		evicted := metav1.NewTime(now.Add(-30 * time.Second))
		deleted := ready("deleted")
		deleted.DeletionTimestamp = &evicted
		pods := []*corev1.Pod{ready("evicted"), ready("later"), deleted, ready("healthy"), {ObjectMeta: metav1.ObjectMeta{Name: "starting"}}}
		budget := &policyv1.PodDisruptionBudget{Status: policyv1.PodDisruptionBudgetStatus{DisruptedPods: map[string]metav1.Time{
			"evicted": evicted, "later": metav1.NewTime(now), "deleted": evicted, "gone": evicted,
		}}}
		disrupted, again := (&controller{}).disrupted(budget, pods, now)
		if diff := cmp.Diff(map[string]metav1.Time{"evicted": evicted, "later": metav1.NewTime(now)}, disrupted); diff != "" {
			t.Errorf("the pods that are to be deleted differ (-want +got):\n%s", diff)
		}
		if again != 90*time.Second {
			t.Errorf("want another look when the first one has had two minutes, got one after %s", again)
		}
		if got := countHealthy(pods, disrupted); got != 1 {
			t.Errorf("want one healthy pod, got %d", got)
		}
	})
}

func TestStaleAfter(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		change       func(*corev1.Pod)
		after        time.Duration
		has          bool
	}{
		{"evicted", "the condition becomes stale after two minutes", func(*corev1.Pod) {}, 90 * time.Second, true},
		{"long ago", "the pod wasn't deleted", func(p *corev1.Pod) {
			p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Now().Add(-time.Hour))
		}, 0, true},
		{"deleted", "the pod is being deleted", func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, 0, false},
		{"ended", "the condition has the reason for the end of the pod",
			func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, 0, false},
		{"by the kubelet", "the kubelet ends the pod",
			func(p *corev1.Pod) { p.Status.Conditions[0].Reason = corev1.PodReasonTerminationByKubelet }, 0, false},
		{"reset", "the condition is false already",
			func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, 0, false},
		{"none", "the pod was not evicted", func(p *corev1.Pod) { p.Status.Conditions = nil }, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
					{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
						LastTransitionTime: metav1.NewTime(time.Now().Add(-30 * time.Second))},
				}}}
				test.change(pod)
				if after, has := staleAfter(pod); after != test.after || has != test.has {
					t.Errorf("%s: want %s, %t, got %s, %t", test.reason, test.after, test.has, after, has)
				}
			})
		})
	}
}
