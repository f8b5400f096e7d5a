package scheduler

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxScore is the highest score that a plugin gives to a node.
const maxScore = 100

// plugin is a rule that refuses nodes, or prefers some nodes to others. Plugins have the names that kube-scheduler gives
// them.
type plugin struct {
	name string
	// filter returns a function that refuses nodes for the pod of a cycle, or nil if the plugin has nothing against any
	// node. If the plugin refuses all nodes, filter returns the refusal instead.
	filter func(*cycle) (filter, *refusal)
	// score returns a score of each node, from 0 to maxScore. It returns nil if the plugin has no preference. weight is the
	// factor of the scores.
	score  func(*cycle, []*node) []int64
	weight int64
	// The functions after… report whether a change may help a pod that the plugin has refused a node. The arguments before
	// and after are nil if the object was created or deleted.
	afterNode func(pod *podInfo, before, after *corev1.Node) bool
	// afterPod is called when a pod is bound to a node, and when a pod with a node changes or is deleted. afterItself is
	// called when the waiting pod changes.
	afterPod    func(pod, before, after *podInfo) bool
	afterItself func(before, after *podInfo) bool
	// afterStorage is called when one of the objects of storage has changed.
	afterStorage func(pod *podInfo, before, after metav1.Object) bool
}

// plugins has the plugins in the order in which they are asked.
var plugins = []plugin{
	{name: "NodeName", filter: refuseOtherNames, afterNode: isNew},
	{name: "NodeUnschedulable", filter: refuseUnschedulable, afterNode: unschedulableAfterNode, afterItself: unschedulableAfterItself},
	{name: "TaintToleration", filter: refuseTaints, score: scoreTaints, weight: 3, afterNode: taintsAfterNode, afterItself: tolerationsChanged},
	{name: nodeAffinity, filter: refuseNodeAffinity, score: scoreNodeAffinity, weight: 2, afterNode: nodeAffinityAfterNode},
	{name: "NodePorts", filter: refusePorts, afterNode: isNew, afterPod: portsAfterPod},
	{name: "NodeResourcesFit", filter: refuseResources, score: scoreLeastAllocated, weight: 1, afterNode: resourcesAfterNode,
		afterPod: resourcesAfterPod, afterItself: resourcesAfterItself},
	{name: "VolumeRestrictions", filter: refuseUsedVolumes, afterNode: isNew, afterPod: usedVolumesAfterPod, afterStorage: usedVolumesAfterStorage},
	{name: "NodeVolumeLimits", filter: refuseBeyondLimits, afterPod: limitsAfterPod, afterStorage: limitsAfterStorage},
	{name: volumeBinding, filter: refuseVolumes, afterNode: labelsAfterNode, afterStorage: volumesAfterStorage},
	{name: "VolumeZone", filter: refuseOtherZones, afterNode: labelsAfterNode, afterStorage: zonesAfterStorage},
	{name: "PodTopologySpread", filter: refuseSkew, score: scoreSpread, weight: 2, afterNode: spreadAfterNode, afterPod: spreadAfterPod,
		afterItself: spreadAfterItself},
	{name: "InterPodAffinity", filter: refusePodAffinity, score: scorePodAffinity, weight: 2, afterNode: podAffinityAfterNode,
		afterPod: podAffinityAfterPod, afterItself: labelsChanged},
	{name: "NodeDeclaredFeatures", filter: refuseUndeclared, afterNode: featuresAfterNode, afterItself: featuresAfterItself},
	{name: "NodeResourcesBalancedAllocation", score: scoreBalancedAllocation, weight: 1},
	{name: "ImageLocality", score: scoreImages, weight: 1},
}

// filter returns the refusal of a node, or nil.
type filter func(*node) *refusal

// refusal says why a pod doesn't get a node.
type refusal struct {
	by      string // the name of the plugin
	reasons []string
	// final is true if the deletion of other pods doesn't help.
	final bool
}

func isNew(_ *podInfo, before, after *corev1.Node) bool { return before == nil && after != nil }

func labelsAfterNode(_ *podInfo, before, after *corev1.Node) bool {
	return after != nil && (before == nil || !maps.Equal(before.Labels, after.Labels))
}

// toPercent scales scores so that the highest becomes maxScore.
func toPercent(scores []int64) {
	var highest int64
	for _, score := range scores {
		highest = max(highest, score)
	}
	if highest == 0 {
		return
	}
	for i := range scores {
		scores[i] = maxScore * scores[i] / highest
	}
}
