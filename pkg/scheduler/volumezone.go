package scheduler

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// zoneLabels are the labels of volumes that say in which zones and regions nodes can have them, with the present name of each.
var zoneLabels = map[string]string{
	corev1.LabelFailureDomainBetaZone:   corev1.LabelTopologyZone,
	corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion,
	corev1.LabelTopologyZone:            corev1.LabelTopologyZone,
	corev1.LabelTopologyRegion:          corev1.LabelTopologyRegion,
}

// place is a label of a volume with the values that a node may have.
type place struct {
	label  string
	values sets.Set[string]
}

// refuseOtherZones refuses the nodes outside of the zones and regions of the pod's volumes. A node without such labels has
// the only zone of its cluster.
func refuseOtherZones(c *cycle) (filter, *refusal) {
	var places []place
	for name := range claimNames(c.pod.Pod) {
		claim, err := c.storage.claims.PersistentVolumeClaims(c.pod.Namespace).Get(name)
		if err != nil || claim.Spec.VolumeName == "" {
			continue // the plugin VolumeBinding has refused the pod, or binds the claim on the node
		}
		v, err := c.storage.volumes.Get(claim.Spec.VolumeName)
		if err != nil {
			continue
		}
		for label := range zoneLabels {
			if value, ok := v.Labels[label]; ok {
				places = append(places, place{label, sets.New(strings.Split(value, "__")...)})
			}
		}
	}
	if len(places) == 0 {
		return nil, nil
	}
	elsewhere := &refusal{reasons: []string{"node(s) had no available volume zone"}, final: true}
	return func(n *node) *refusal {
		if !isInZone(n.Node) {
			return nil
		}
		for _, p := range places {
			value, ok := n.Labels[p.label]
			if !ok {
				value, ok = n.Labels[zoneLabels[p.label]]
			}
			if !ok || !p.values.Has(value) {
				return elsewhere
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
