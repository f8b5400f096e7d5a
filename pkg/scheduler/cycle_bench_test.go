package scheduler

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// BenchmarkCycles measures the decisions about the pods of ReplicaSets.
func BenchmarkCycles(b *testing.B) {
	for _, size := range []struct{ nodes, sets, pods int }{{50, 1, 1000}, {1000, 100, 10000}} {
		b.Run(fmt.Sprintf("nodes=%d/sets=%d/pods=%d", size.nodes, size.sets, size.pods), func(b *testing.B) {
			benchmarkCycles(b, size.nodes, size.sets, size.pods)
		})
	}
}

func benchmarkCycles(b *testing.B, nodes, sets, pods int) {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	core, apps := factory.Core().V1(), factory.Apps().V1()
	var all []*appsv1.ReplicaSet
	for i := range sets {
		name := fmt.Sprintf("set-%d", i)
		set := &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
			Spec:       appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
		}
		if err := apps.ReplicaSets().Informer().GetStore().Add(set); err != nil {
			b.Fatal(err)
		}
		all = append(all, set)
	}
	for b.Loop() {
		known := newCluster()
		for i := range nodes {
			name := fmt.Sprintf("node-%d", i)
			known.setNode(&corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3)}},
				Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("256Gi"), corev1.ResourcePods: resource.MustParse("110"),
				}},
			})
		}
		for i := range pods {
			name, set := fmt.Sprintf("pod-%d", i), all[i%sets]
			c := &cycle{
				cluster: &known, namespaces: core.Namespaces().Lister(),
				owners: owners{core.Services().Lister(), core.ReplicationControllers().Lister(), apps.ReplicaSets().Lister(), apps.StatefulSets().Lister()},
				pod: newPodInfo(&corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Labels: set.Spec.Selector.MatchLabels,
						OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}},
					Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}},
				}),
			}
			if r := c.prepare(); r != nil {
				b.Fatal(r.reasons)
			}
			feasible, _ := c.feasible()
			known.assign(c.pod, c.best(feasible).name)
		}
	}
}
