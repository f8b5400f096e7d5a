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

// BenchmarkCycles measures the decisions about the 1,000 pods of a ReplicaSet on 50 nodes.
func BenchmarkCycles(b *testing.B) {
	const nodes, pods = 50, 1000
	selected := map[string]string{"app": "x"}
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	core, apps := factory.Core().V1(), factory.Apps().V1()
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}, Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: selected}}}
	if err := apps.ReplicaSets().Informer().GetStore().Add(set); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		all := newCluster()
		for i := range nodes {
			name := fmt.Sprintf("node-%d", i)
			all.setNode(&corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3)}},
				Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("256Gi"), corev1.ResourcePods: resource.MustParse("110"),
				}},
			})
		}
		for i := range pods {
			name := fmt.Sprintf("pod-%d", i)
			c := &cycle{
				cluster: &all, namespaces: core.Namespaces().Lister(),
				owners: owners{core.Services().Lister(), core.ReplicationControllers().Lister(), apps.ReplicaSets().Lister(), apps.StatefulSets().Lister()},
				pod: newPodInfo(&corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Labels: selected,
						OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}},
					Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}},
				}),
			}
			if r := c.prepare(); r != nil {
				b.Fatal(r.reasons)
			}
			feasible, _ := c.feasible()
			all.assign(c.pod, c.best(feasible).name)
		}
	}
}
