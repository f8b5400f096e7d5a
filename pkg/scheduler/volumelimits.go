package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"
)

// attachment is a volume of a CSI driver that is attached to a node: a volume by its handle, or one that will be made for
// a claim.
type attachment struct{ driver, handle, claim string }

// attachments returns the volumes of a pod that have to be attached to its node. A pod without one of its claims is refused
// by other plugins.
func (s storage) attachments(pod *corev1.Pod) sets.Set[attachment] {
	all := sets.New[attachment]()
	for name := range claimNames(pod) {
		claim, err := s.claims.PersistentVolumeClaims(pod.Namespace).Get(name)
		if err != nil {
			continue
		}
		if v, err := s.volumes.Get(claim.Spec.VolumeName); err == nil {
			if csi := v.Spec.CSI; csi != nil {
				all.Insert(attachment{driver: csi.Driver, handle: csi.VolumeHandle})
			}
		} else if class, err := s.classes.Get(volume.GetPersistentVolumeClaimClass(claim)); err == nil {
			all.Insert(attachment{driver: class.Provisioner, claim: pod.Namespace + "/" + name})
		}
	}
	return all
}

// attached returns the volumes that VolumeAttachments attach to nodes, by the nodes' names.
func (s storage) attached() map[string]sets.Set[attachment] {
	nodes := map[string]sets.Set[attachment]{}
	all, err := s.volumeAttachments.List(labels.Everything())
	if err != nil {
		return nil
	}
	for _, a := range all {
		v, err := s.volumes.Get(ptr.Deref(a.Spec.Source.PersistentVolumeName, ""))
		if err != nil || v.Spec.CSI == nil {
			continue
		}
		if nodes[a.Spec.NodeName] == nil {
			nodes[a.Spec.NodeName] = sets.New[attachment]()
		}
		nodes[a.Spec.NodeName].Insert(attachment{driver: a.Spec.Attacher, handle: v.Spec.CSI.VolumeHandle})
	}
	return nodes
}

// refuseBeyondLimits refuses the nodes to which a CSI driver can't attach all volumes of the pod.
func refuseBeyondLimits(c *cycle) (filter, *refusal) {
	wanted := c.storage.attachments(c.pod.Pod)
	if wanted.Len() == 0 {
		return nil, nil
	}
	needed := c.storage.neededDrivers(wanted)
	attached := c.storage.attached()
	exceeded := &refusal{reasons: []string{"node(s) exceed max volume count"}}
	return func(n *node) *refusal {
		limits := map[string]int32{}
		drivers := sets.New[string]()
		if on, err := c.storage.nodes.Get(n.name); err == nil {
			limits = limitsOf(on)
			for _, d := range on.Spec.Drivers {
				drivers.Insert(d.Name)
			}
		}
		if missing := sets.List(needed.Difference(drivers)); len(missing) > 0 {
			return &refusal{reasons: []string{missing[0] + " CSI driver is not installed on the node"}}
		}
		if len(limits) == 0 {
			return nil
		}
		used := sets.New[attachment]()
		for _, pod := range n.pods {
			used = used.Union(c.storage.attachments(pod.Pod))
		}
		added, present := byDriver(wanted.Difference(used)), byDriver(used.Union(attached[n.name]))
		for driver, limit := range limits {
			if added[driver] > 0 && present[driver]+added[driver] > int(limit) {
				return exceeded
			}
		}
		return nil
	}, nil
}

// neededDrivers returns the drivers of volumes that don't let a pod go to a node without the driver.
func (s storage) neededDrivers(volumes sets.Set[attachment]) sets.Set[string] {
	needed := sets.New[string]()
	for v := range volumes {
		if driver, err := s.drivers.Get(v.driver); err == nil && ptr.Deref(driver.Spec.PreventPodSchedulingIfMissing, false) {
			needed.Insert(v.driver)
		}
	}
	return needed
}

func byDriver(volumes sets.Set[attachment]) map[string]int {
	counts := map[string]int{}
	for v := range volumes {
		counts[v.driver]++
	}
	return counts
}

// limitsOf returns how many volumes the drivers of a node can attach. A driver without a limit is left out.
func limitsOf(n *storagev1.CSINode) map[string]int32 {
	limits := map[string]int32{}
	for _, d := range n.Spec.Drivers {
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			limits[d.Name] = *d.Allocatable.Count
		}
	}
	return limits
}

func limitsAfterPod(_, before, after *podInfo) bool {
	return before != nil && after == nil && len(claimNames(before.Pod)) > 0
}

func limitsAfterStorage(pod *podInfo, before, after metav1.Object) bool {
	switch after := after.(type) {
	case *storagev1.CSINode:
		old, ok := before.(*storagev1.CSINode)
		return !ok || raises(limitsOf(old), limitsOf(after))
	case *corev1.PersistentVolumeClaim:
		return before == nil && pod.usesClaim(after)
	}
	_, detached := before.(*storagev1.VolumeAttachment)
	return after == nil && detached && len(plainClaims(pod.Pod)) > 0
}

// raises reports whether a limit is higher than before. A driver that had no limit counts as one with the limit 0.
func raises(before, after map[string]int32) bool {
	for driver, limit := range after {
		if limit > before[driver] {
			return true
		}
	}
	return false
}
