package nodelifecycle

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/node/topology"
)

// taintOf has the keys of the taints that nodes get for a condition with a status.
var taintOf = map[corev1.NodeConditionType]map[corev1.ConditionStatus]string{
	corev1.NodeReady:              {corev1.ConditionFalse: corev1.TaintNodeNotReady, corev1.ConditionUnknown: corev1.TaintNodeUnreachable},
	corev1.NodeMemoryPressure:     {corev1.ConditionTrue: corev1.TaintNodeMemoryPressure},
	corev1.NodeDiskPressure:       {corev1.ConditionTrue: corev1.TaintNodeDiskPressure},
	corev1.NodeNetworkUnavailable: {corev1.ConditionTrue: corev1.TaintNodeNetworkUnavailable},
	corev1.NodePIDPressure:        {corev1.ConditionTrue: corev1.TaintNodePIDPressure},
}

// oldLabels has the labels that nodes have under a former name, too.
var oldLabels = map[string]string{corev1.LabelOSStable: "beta.kubernetes.io/os", corev1.LabelArchStable: "beta.kubernetes.io/arch"}

// update writes the taints and labels that follow from the conditions and labels of a node.
func (m *monitor) update(ctx context.Context, node *corev1.Node) error {
	changed := node.DeepCopy()
	changed.Spec.Taints = m.taintsOf(node)
	for name, old := range oldLabels {
		if value, has := node.Labels[name]; has {
			changed.Labels[old] = value
		}
	}
	if slices.EqualFunc(node.Spec.Taints, changed.Spec.Taints, isSame) && maps.Equal(node.Labels, changed.Labels) {
		return nil
	}
	_, err := m.Client.Nodes().Update(ctx, changed, metav1.UpdateOptions{})
	return err
}

func isSame(a, b corev1.Taint) bool { return a.Key == b.Key && a.Effect == b.Effect }

// taintsOf returns the taints of a node: those that follow from its conditions, and those that others have given it.
func (m *monitor) taintsOf(node *corev1.Node) []corev1.Taint {
	var wanted []corev1.Taint
	for _, condition := range node.Status.Conditions {
		if key := taintOf[condition.Type][condition.Status]; key != "" {
			wanted = append(wanted, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
		}
	}
	if node.Spec.Unschedulable {
		wanted = append(wanted, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	if key := taintOf[corev1.NodeReady][statusOf(node)]; key != "" && m.mayEvict(node) {
		wanted = append(wanted, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute})
	}
	taints := slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool {
		return isOwn(t) && !slices.ContainsFunc(wanted, func(w corev1.Taint) bool { return isSame(t, w) })
	})
	for _, w := range wanted {
		if !slices.ContainsFunc(taints, func(t corev1.Taint) bool { return isSame(t, w) }) {
			w.TimeAdded = new(metav1.Now())
			taints = append(taints, w)
		}
	}
	return taints
}

func isReadiness(t corev1.Taint) bool {
	return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
}

// isOwn reports whether a taint is one that the controller gives and takes away.
func isOwn(t corev1.Taint) bool {
	if t.Effect == corev1.TaintEffectNoExecute {
		return isReadiness(t)
	}
	if t.Effect != corev1.TaintEffectNoSchedule {
		return false
	}
	for _, byStatus := range taintOf {
		for _, key := range byStatus {
			if t.Key == key {
				return true
			}
		}
	}
	return t.Key == corev1.TaintNodeUnschedulable
}

// A zone is disrupted if at least this many of its nodes aren't ready, and at least this part. In a disrupted zone of at
// most smallZone nodes, no further node evicts pods. The values are kube-controller-manager's.
const (
	disruptedNodes = 3
	disruptedPart  = 0.55
	smallZone      = 50
)

// mayEvict reports whether a node that isn't ready may get a taint that evicts its pods, or keep one. If no node is ready,
// the fault is likely to be elsewhere.
func (m *monitor) mayEvict(node *corev1.Node) bool {
	zone := topology.GetZoneKey(node)
	ready, inZone, notReady := 0, 0, 0
	for _, obj := range m.Nodes.GetStore().List() {
		other := obj.(*corev1.Node)
		isReady := statusOf(other) == corev1.ConditionTrue
		if isReady {
			ready++
		}
		if topology.GetZoneKey(other) == zone {
			inZone++
			if !isReady {
				notReady++
			}
		}
	}
	isDisrupted := notReady < inZone && notReady >= disruptedNodes && float64(notReady) >= disruptedPart*float64(inZone)
	has := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return isReadiness(t) && t.Effect == corev1.TaintEffectNoExecute })
	return ready > 0 && (has || !isDisrupted || inZone > smallZone)
}
