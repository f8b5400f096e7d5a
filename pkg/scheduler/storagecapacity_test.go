package scheduler_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// newCapacity returns the free storage of a class for the nodes of a zone.
func newCapacity(of, size string) *storagev1.CSIStorageCapacity {
	return &storagev1.CSIStorageCapacity{
		ObjectMeta:       metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: of},
		StorageClassName: "delayed", Capacity: new(resource.MustParse(size)),
		NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{zone: of}},
	}
}

// A pod gets a node for which the driver of its claim has enough free storage.
func TestStorageCapacity(t *testing.T) {
	t.Parallel()
	const noStorage = "0/2 nodes are available: 2 node(s) did not have enough free storage. " +
		"preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
	publishes := newDriver(func(spec *storagev1.CSIDriverSpec) { spec.StorageCapacity = new(true) })
	smallVolumes := newCapacity("b", "9Gi")
	smallVolumes.MaximumVolumeSize = new(resource.MustParse("1Mi"))
	otherClass := newCapacity("b", "9Gi")
	otherClass.StorageClassName = "other"
	for _, test := range []struct {
		name, reason string
		objects      []runtime.Object
		node, want   string
	}{
		{"unpublished", "the driver doesn't say how much there is", []runtime.Object{newDriver(func(*storagev1.CSIDriverSpec) {})}, "n1", ""},
		{"none", "the driver has published nothing", []runtime.Object{publishes}, "", noStorage},
		{"enough in a zone", "only zone b has enough", []runtime.Object{publishes, newCapacity("a", "1Mi"), newCapacity("b", "1Gi")}, "n2", ""},
		{"too little", "the claim is larger", []runtime.Object{publishes, newCapacity("b", "1023Mi")}, "", noStorage},
		{"small volumes", "no volume can be as large as the claim", []runtime.Object{publishes, smallVolumes}, "", noStorage},
		{"another class", "the storage is of another class", []runtime.Object{publishes, otherClass}, "", noStorage},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, append(test.objects, newNode("n1", inZone("a")), newNode("n2", inZone("b")),
				newClass("delayed", disks, storagev1.VolumeBindingWaitForFirstConsumer), newClaim("c", "delayed"), newPod("p", claiming("c")))...)
			pod := w.await(t.Context(), t, "p", func(pod *corev1.Pod) bool {
				return pod.Status.NominatedNodeName != "" || len(pod.Status.Conditions) > 0
			})
			if got := pod.Status.NominatedNodeName; got != test.node || test.node == "" && pod.Status.Conditions[0].Message != test.want {
				t.Errorf("%s: want node %q or the message %q, got %q, %v", test.reason, test.node, test.want, got, pod.Status.Conditions)
			}
		})
	}
}
