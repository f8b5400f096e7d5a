package scheduler_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const disks = "disks.example.com"

// newCSIVolume returns a volume of a CSI driver whose handle is its name.
func newCSIVolume(name, driver string) *corev1.PersistentVolume {
	v := newVolume(name, "", "")
	v.Spec.NodeAffinity = nil
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: name}
	return v
}

// newCSINode returns the drivers of a node. Each can attach a number of volumes.
func newCSINode(node string, limit int32, drivers ...string) *storagev1.CSINode {
	n := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}}
	for _, driver := range drivers {
		n.Spec.Drivers = append(n.Spec.Drivers, storagev1.CSINodeDriver{Name: driver, Allocatable: &storagev1.VolumeNodeResources{Count: &limit}})
	}
	return n
}

func newAttachment(volume, node string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: volume},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: disks, NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume}},
	}
}

func newDriver(change func(*storagev1.CSIDriverSpec)) *storagev1.CSIDriver {
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: disks}}
	change(&driver.Spec)
	return driver
}

// A pod gets a node to which its volumes can be attached.
func TestVolumeLimits(t *testing.T) {
	t.Parallel()
	const (
		tooMany = "0/1 nodes are available: 1 node(s) exceed max volume count. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
		missing = "0/1 nodes are available: 1 disks.example.com CSI driver is not installed on the node. " +
			"preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
	)
	delayed := newClass("delayed", disks, storagev1.VolumeBindingWaitForFirstConsumer)
	required := newDriver(func(spec *storagev1.CSIDriverSpec) { spec.PreventPodSchedulingIfMissing = new(true) })
	for _, test := range []struct {
		name, reason string
		objects      []runtime.Object
		node, want   string
	}{
		{"room", "the limit is reached, not exceeded", []runtime.Object{newCSINode("n1", 1, disks)}, "n1", ""},
		{"no limits", "there is no CSINode", nil, "n1", ""},
		{"full", "a pod has the only volume", []runtime.Object{newCSINode("n1", 1, disks), newPod("q", claiming("other"), on("n1"))}, "", tooMany},
		{"full of another driver", "the limit is that of another driver", []runtime.Object{newCSINode("n1", 1, "other.example.com"), newPod("q", claiming("other"), on("n1"))}, "n1", ""},
		{"shared volume", "a pod on the node has the same volume", []runtime.Object{newCSINode("n1", 1, disks), newPod("q", claiming("c"), on("n1"))}, "n1", ""},
		{"attached", "a volume isn't detached yet", []runtime.Object{newCSINode("n1", 1, disks), newAttachment("other", "n1")}, "", tooMany},
		{"attached and used", "the volume of the pod counts once", []runtime.Object{newCSINode("n1", 2, disks), newPod("q", claiming("other"), on("n1")), newAttachment("other", "n1")}, "n1", ""},
		{"attached elsewhere", "the volume is on another node", []runtime.Object{newCSINode("n1", 1, disks), newAttachment("other", "n2")}, "n1", ""},
		{"to be made", "the volume of a claim that waits counts, too", []runtime.Object{newCSINode("n1", 1, disks), delayed,
			newClaim("later", "delayed"), newPod("q", claiming("later"), on("n1"))}, "", tooMany},
		{"driver missing", "the driver says that its nodes need it", []runtime.Object{required, newCSINode("n1", 9, "other.example.com")}, "", missing},
		{"driver present", "the node has it", []runtime.Object{required, newCSINode("n1", 9, disks)}, "n1", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, append(test.objects, newNode("n1"), newPod("p", claiming("c")), newClaim("c", "", boundTo("v")), newCSIVolume("v", disks),
				newClaim("other", "", boundTo("other")), newCSIVolume("other", disks))...)
			node, condition := w.decided(t.Context(), t, "p")
			if node != test.node || test.node == "" && (condition == nil || condition.Message != test.want) {
				t.Errorf("%s: want node %q or the message %q, got %q, %v", test.reason, test.node, test.want, node, condition)
			}
		})
	}
}

// Preemption frees the volumes of its victims.
func TestVolumeLimitsPreemption(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newNode("n1"), newCSINode("n1", 1, disks), newClaim("c", "", boundTo("v")), newCSIVolume("v", disks),
		newClaim("other", "", boundTo("other")), newCSIVolume("other", disks), newPod("q", claiming("other"), on("n1")), newPod("p", claiming("c"), priority(1)))
	if node := w.bound(t.Context(), t, "p"); node != "n1" {
		t.Errorf("want node n1, got %s", node)
	}
}
