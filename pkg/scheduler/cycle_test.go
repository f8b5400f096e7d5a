package scheduler

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNodesToFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, reason string
		nodes, want  int
	}{
		{"few", "a small cluster is searched as a whole", 60, 60},
		{"a hundred", "half of the nodes would be fewer than 100", 150, 100},
		{"a thousand", "the part falls by one per cent with each 125 nodes", 1000, 420},
		{"very many", "the part doesn't fall below 5 per cent", 10000, 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := toFind(c.nodes); got != c.want {
				t.Errorf("want %d of %d nodes, got %d: %s", c.want, c.nodes, got, c.reason)
			}
		})
	}
}

// A cycle in a large cluster begins with the node after the last one that the cycle before it has asked for.
func TestNodesAreTakenInTurns(t *testing.T) {
	t.Parallel()
	known := newCluster()
	for i := range 150 {
		known.setNode(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%03d", i)},
			Status:     corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
		})
	}
	find := func() []string {
		c := &cycle{cluster: &known, pod: newPodInfo(&corev1.Pod{})}
		var fits named
		fits.filter, _ = refuseResources(c)
		c.filters = []named{fits}
		nodes, _ := c.feasible()
		var names []string
		for _, n := range nodes {
			names = append(names, n.name)
		}
		return names
	}
	full := newPodInfo(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1"}})
	known.assign(full, "node-000")
	first, second := find(), find()
	if len(first) != 100 || first[0] != "node-001" || first[99] != "node-100" {
		t.Errorf("the first cycle: want node-001 to node-100, because node-000 is full, got %v", first)
	}
	if len(second) != 100 || second[0] != "node-101" || second[99] != "node-051" || slices.Contains(second, "node-000") {
		t.Errorf("the second cycle: want node-101 to node-149 and node-001 to node-051, got %v", second)
	}
}
