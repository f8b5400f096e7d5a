package replicaset

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

func TestRelevant(t *testing.T) {
	t.Parallel()
	now := time.Now()
	label := func(key, value string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			labels := map[string]string{key: value}
			for key, value := range pod.Labels {
				labels[key] = value
			}
			pod.Labels = labels
		}
	}
	ownedBy := func(uid types.UID, name string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: name, UID: uid, Controller: new(true)}}
		}
	}
	for _, test := range []struct {
		name, reason  string
		before, after *corev1.Pod
		want          bool
	}{
		{"bound", "neither the node nor the labels of its zone count", pod("a", func(pod *corev1.Pod) { pod.Spec.NodeName = "" }), pod("a", label("zone", "a")), false},
		{"other condition", "only the condition Ready counts", pod("a"), pod("a", func(pod *corev1.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}}
		}), false},
		{"ready", "the number of ready replicas changes", pod("a"), pod("a", readySince(now)), true},
		{"ready again", "the pod becomes available later", pod("a", readySince(now.Add(-time.Minute))), pod("a", readySince(now)), true},
		{"failed", "the pod is replaced", pod("a"), pod("a", fail), true},
		{"deleted", "the pod is replaced, and counts as terminating", pod("a"), pod("a", deleting), true},
		{"ended while it is deleted", "the pod doesn't count as terminating any more", pod("a", deleting), pod("a", deleting, fail), true},
		{"relabelled", "the set releases the pod", pod("a"), pod("a", relabel), true},
		{"released", "the set has a pod less", pod("a"), pod("a", orphan), true},
		{"adopted", "the set has a pod more", pod("a", orphan), pod("a"), true},
		{"of another set", "both sets are concerned", pod("a"), pod("a", ownedBy("other-uid", "other")), true},
		{"of an unknown set", "nothing tells what its selector matches", pod("a", ownedBy("x", "x")), pod("a", ownedBy("x", "x"), label("zone", "a")), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, _ := newController(t, replicaSet(1), nil)
			got := false
			events := c.relevant(work.Events{Updated: func(_, _ metav1.Object) { got = true }})
			if events.Updated(test.before, test.after); got != test.want {
				t.Errorf("%s: want the set to be looked at: %t, got %t", test.reason, test.want, got)
			}
		})
	}
}
