package daemonset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulingv1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// placement decides on which nodes the pods of a template run.
type placement struct {
	node        string // the name of the only node, if it isn't ""
	affinity    nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration
}

func newPlacement(template *corev1.PodTemplateSpec) placement {
	spec := &template.Spec
	return placement{spec.NodeName, nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity), tolerationsOf(spec)}
}

// tolerated are the taints that all pods of DaemonSets tolerate. The last one is for pods in the network of their node.
var tolerated = []corev1.Toleration{
	{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeDiskPressure, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeMemoryPressure, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodePIDPressure, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule},
}

// tolerationsOf returns the tolerations of a DaemonSet's pods: those of the template, and those of all such pods, which have
// no limit of time.
func tolerationsOf(spec *corev1.PodSpec) []corev1.Toleration {
	tolerations := slices.Clone(spec.Tolerations)
	for _, added := range tolerated {
		if added.Key == corev1.TaintNodeNetworkUnavailable && !spec.HostNetwork {
			continue
		}
		added.Operator = corev1.TolerationOpExists
		same := func(t corev1.Toleration) bool { return added.MatchToleration(&t) }
		if i := slices.IndexFunc(tolerations, same); i >= 0 {
			tolerations[i] = added
		} else {
			tolerations = append(tolerations, added)
		}
	}
	return tolerations
}

// on reports whether a node gets a pod, and whether a pod that it has stays.
func (p placement) on(node *corev1.Node) (runs, stays bool) {
	if p.node != "" && p.node != node.Name {
		return false, false
	}
	if fits, _ := p.affinity.Match(node); !fits { // a term that is invalid matches no node
		return false, false
	}
	return !p.isRepelled(node, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute), !p.isRepelled(node, corev1.TaintEffectNoExecute)
}

// isRepelled reports whether a node has a taint with one of the effects that the pods don't tolerate.
func (p placement) isRepelled(node *corev1.Node, effects ...corev1.TaintEffect) bool {
	counts := func(taint *corev1.Taint) bool { return slices.Contains(effects, taint.Effect) }
	_, repelled := schedulingv1.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, p.tolerations, counts, false)
	return repelled
}

// onlyOn returns the affinity of a pod with the requirement of a node in place of all others.
func onlyOn(affinity *corev1.Affinity, node string) *corev1.Affinity {
	if affinity == nil {
		affinity = &corev1.Affinity{}
	}
	if affinity.NodeAffinity == nil {
		affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
	}}}
	return affinity
}

// targetOf returns the name of the node that has a pod, or on which it will run, or "" if the pod doesn't say.
func targetOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && field.Operator == corev1.NodeSelectorOpIn {
				if len(field.Values) != 1 {
					return ""
				}
				return field.Values[0]
			}
		}
	}
	return ""
}
