package scheduler

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// zoneLabels are the labels of volumes that say in which zones and regions nodes can have them, with the present name of each.
var zoneLabels = map[string]string{
	corev1.LabelFailureDomainBetaZone:   corev1.LabelTopologyZone,
	corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion,
	corev1.LabelTopologyZone:            corev1.LabelTopologyZone,
	corev1.LabelTopologyRegion:          corev1.LabelTopologyRegion,
}

// zonesOf returns the labels of a volume that say where nodes can have it, with the values that a node may have.
func zonesOf(v *corev1.PersistentVolume) map[string]sets.Set[string] {
	zones := map[string]sets.Set[string]{}
	for label := range zoneLabels {
		if value, ok := v.Labels[label]; ok {
			zones[label] = sets.New(strings.Split(value, "__")...)
		}
	}
	return zones
}

// refuseOtherZones refuses the nodes outside of the zones and regions of the pod's volumes. A node without such labels has
// the only zone of its cluster.
func refuseOtherZones(c *cycle) (filter, *refusal) {
	var volumes []map[string]sets.Set[string]
	for _, name := range plainClaims(c.pod.Pod) {
		claim, err := c.storage.claims.PersistentVolumeClaims(c.pod.Namespace).Get(name)
		if err != nil || claim.Spec.VolumeName == "" {
			continue // the pod is refused by other plugins, or VolumeBinding binds the claim on the node
		}
		v, err := c.storage.volumes.Get(claim.Spec.VolumeName)
		if err != nil {
			return nil, &refusal{reasons: []string{err.Error()}, final: true}
		}
		volumes = append(volumes, zonesOf(v))
	}
	if len(volumes) == 0 {
		return nil, nil
	}
	elsewhere := &refusal{reasons: []string{"node(s) had no available volume zone"}, final: true}
	return func(n *node) *refusal {
		if !isInZone(n.Node) {
			return nil
		}
		for _, zones := range volumes {
			for label, allowed := range zones {
				value, ok := n.Labels[label]
				if !ok {
					value, ok = n.Labels[zoneLabels[label]]
				}
				if !ok || !allowed.Has(value) {
					return elsewhere
				}
			}
		}
		return nil
	}, nil
}

func isInZone(n *corev1.Node) bool {
	for label := range zoneLabels {
		if _, ok := n.Labels[label]; ok {
			return true
		}
	}
	return false
}

func zonesAfterStorage(pod *podInfo, before, after metav1.Object) bool {
	switch after := after.(type) {
	case *corev1.PersistentVolume:
		old, ok := before.(*corev1.PersistentVolume)
		return !ok || !maps.EqualFunc(zonesOf(old), zonesOf(after), sets.Set[string].Equal)
	case *corev1.PersistentVolumeClaim:
		return pod.namesClaim(after)
	case *storagev1.StorageClass:
		return before == nil && after.VolumeBindingMode != nil && *after.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	}
	return false
}
