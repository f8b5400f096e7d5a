package scheduler_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func prefersNear(topology, other string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
				{Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{LabelSelector: selecting(other), TopologyKey: topology}},
			},
		}}
	}
}

func avoids(topology, other string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
				{Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{LabelSelector: selecting(other), TopologyKey: topology}},
			},
		}}
	}
}

func prefersZone(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: zone, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}},
			}}},
		}}
	}
}

func size(cpu, memory string) func(*corev1.Node) {
	return func(node *corev1.Node) {
		node.Status.Allocatable[corev1.ResourceCPU], node.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse(cpu), resource.MustParse(memory)
	}
}

func having(image string, size int64) func(*corev1.Node) {
	return func(node *corev1.Node) {
		node.Status.Images = []corev1.ContainerImage{{Names: []string{image}, SizeBytes: size}}
	}
}

func running(image string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = image }
}

// Of the nodes that take a pod, it gets the one that kube-scheduler's scores prefer.
func TestScores(t *testing.T) {
	t.Parallel()
	a, b := newNode("n1", inZone("a")), newNode("n2", inZone("b"))
	for _, test := range []struct {
		name, reason string
		objects      []runtime.Object
		pod          *corev1.Pod
		want         string
	}{
		{"least allocated", "the other node has a pod", []runtime.Object{a, b, newPod("q", cpu("1"), on("n1"))}, newPod("p", cpu("1")), "n2"},
		{"least allocated, no requests", "a pod without requests counts, too", []runtime.Object{a, b, newPod("q", on("n1"))}, newPod("p"), "n2"},
		{"larger node", "a smaller part of it is allocated", []runtime.Object{a, newNode("n2", size("8", "16Gi"))}, newPod("p", cpu("1")), "n2"},
		{"balanced", "the node has as much CPU left as memory", []runtime.Object{newNode("n1", size("4", "8Gi")), newNode("n2", size("8", "8Gi"))},
			newPod("p", requests(map[corev1.ResourceName]string{"cpu": "3", "memory": "3Gi"})), "n2"},
		{"image", "the node has the pod's image", []runtime.Object{a, newNode("n2", having("image:latest", 900<<20))}, newPod("p", running("image")), "n2"},
		{"image of several sizes", "it has the size that the first node says, so both nodes are alike", []runtime.Object{newNode("n1", having("image:latest", 100<<20)),
			newNode("n2", having("image:latest", 900<<20))}, newPod("p", running("image")), "n1"},
		{"small image", "pulling it costs little", []runtime.Object{a, newNode("n2", having("image:latest", 20<<20))}, newPod("p", running("image")), "n1"},
		{"preferred zone", "the pod prefers zone b", []runtime.Object{a, b}, newPod("p", prefersZone("b")), "n2"},
		{"preferred pod", "the other pod is in zone b", []runtime.Object{a, b, newPod("q", app("x"), on("n2"))}, newPod("p", prefersNear(zone, "x")), "n2"},
		{"preferred by another pod", "that pod prefers to be near", []runtime.Object{a, b, newPod("q", prefersNear(zone, "x"), on("n2"))}, newPod("p", app("x")), "n2"},
		{"required by another pod", "that pod wants to be near", []runtime.Object{a, b, newPod("q", near(zone, "x"), on("n2"))}, newPod("p", app("x")), "n2"},
		{"avoided pod", "the other pod is in zone a, but n2 is fuller", []runtime.Object{a, b, newPod("q", app("x"), on("n1")), newPod("r", cpu("1"), on("n2"))},
			newPod("p", avoids(zone, "x")), "n2"},
		{"soft spread", "zone a has more of the pods, but n2 is fuller", []runtime.Object{a, b, newPod("q", app("x"), on("n1")), newPod("r", cpu("1"), on("n2"))},
			newPod("p", app("x"), spread(zone, "x", func(c *corev1.TopologySpreadConstraint) { c.WhenUnsatisfiable = corev1.ScheduleAnyway })), "n2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, append([]runtime.Object{test.pod}, test.objects...)...)
			if node, condition := w.decided(t.Context(), t, "p"); node != test.want {
				t.Errorf("%s: want node %s, got %q, %v", test.reason, test.want, node, condition)
			}
		})
	}
}

// Without constraints of their own, the pods of a ReplicaSet or of a Service are spread over nodes and zones.
func TestDefaultSpread(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		owner        runtime.Object
		owned        func(*corev1.Pod)
	}{
		{"ReplicaSet", "it is the pods' controller", &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "x"}, Spec: appsv1.ReplicaSetSpec{Selector: selecting("x")},
		}, func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "x", Controller: new(true)}}
		}},
		{"Service", "it selects the pods", &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "x"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "x"}},
		}, func(*corev1.Pod) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			// Node n1 is so large that it would get all pods otherwise.
			objects := []runtime.Object{test.owner, newNode("n1", inZone("a"), size("1000", "2000Gi")), newNode("n2", inZone("b")), newNode("n3", inZone("c"))}
			for i := range 6 {
				objects = append(objects, newPod(fmt.Sprintf("p%d", i), app("x"), cpu("500m"), test.owned))
			}
			w := newWorld(t, objects...)
			counts := map[string]int{}
			for i := range 6 {
				counts[w.bound(t.Context(), t, fmt.Sprintf("p%d", i))]++
			}
			if counts["n1"] != 2 || counts["n2"] != 2 || counts["n3"] != 2 {
				t.Errorf("%s: want 2 pods on each node, got %v", test.reason, counts)
			}
		})
	}
}
