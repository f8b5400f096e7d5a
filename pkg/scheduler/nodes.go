package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

func refuseOtherNames(c *cycle) (filter, *refusal) {
	name := c.pod.Spec.NodeName
	if name == "" {
		return nil, nil
	}
	other := &refusal{reasons: []string{"node(s) didn't match the requested node name"}, final: true}
	return func(n *node) *refusal {
		if n.name != name {
			return other
		}
		return nil
	}, nil
}

// unschedulableTaint is the taint that a pod must tolerate to get a node with the field spec.unschedulable.
var unschedulableTaint = corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}

func refuseUnschedulable(c *cycle) (filter, *refusal) {
	if tolerates(c.pod.Spec.Tolerations, unschedulableTaint) {
		return nil, nil
	}
	unschedulable := &refusal{reasons: []string{"node(s) were unschedulable"}, final: true}
	return func(n *node) *refusal {
		if n.Spec.Unschedulable {
			return unschedulable
		}
		return nil
	}, nil
}

func unschedulableAfterNode(_ *podInfo, before, after *corev1.Node) bool {
	return after != nil && !after.Spec.Unschedulable && (before == nil || before.Spec.Unschedulable)
}

func unschedulableAfterItself(_, after *podInfo) bool {
	return tolerates(after.Spec.Tolerations, unschedulableTaint)
}

func tolerates(tolerations []corev1.Toleration, taint corev1.Taint) bool {
	return schedulinghelpers.TolerationsTolerateTaint(klog.Background(), tolerations, &taint, false)
}

// isTainted reports whether a node has a taint that keeps a pod away.
func isTainted(pod *podInfo, n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(taint corev1.Taint) bool {
		return (taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute) && !tolerates(pod.Spec.Tolerations, taint)
	})
}

func refuseTaints(c *cycle) (filter, *refusal) {
	tainted := &refusal{reasons: []string{"node(s) had untolerated taint(s)"}, final: true}
	return func(n *node) *refusal {
		if isTainted(c.pod, n.Node) {
			return tainted
		}
		return nil
	}, nil
}

func taintsAfterNode(pod *podInfo, before, after *corev1.Node) bool {
	return after != nil && !isTainted(pod, after) && (before == nil || isTainted(pod, before))
}

func tolerationsChanged(before, after *podInfo) bool {
	return !equality.Semantic.DeepEqual(before.Spec.Tolerations, after.Spec.Tolerations)
}

// scoreTaints prefers the nodes with the fewest taints of the effect PreferNoSchedule that the pod doesn't tolerate.
func scoreTaints(c *cycle, nodes []*node) []int64 {
	scores := make([]int64, len(nodes))
	for i, n := range nodes {
		for _, taint := range n.Spec.Taints {
			if taint.Effect == corev1.TaintEffectPreferNoSchedule && !tolerates(c.pod.Spec.Tolerations, taint) {
				scores[i]++
			}
		}
	}
	toPercent(scores)
	for i := range scores {
		scores[i] = maxScore - scores[i]
	}
	return scores
}

// nodeAffinity is the name of a plugin, which some messages have.
const nodeAffinity = "NodeAffinity"

// refuseNodeAffinity refuses the nodes that the pod's node selector and its required node affinity don't match.
func refuseNodeAffinity(c *cycle) (filter, *refusal) {
	required := nodeaffinity.GetRequiredNodeAffinity(c.pod.Pod)
	var terms []corev1.NodeSelectorTerm
	if a := c.pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		terms = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	}
	if len(terms) == 0 && c.pod.Spec.NodeSelector == nil {
		return nil, nil
	}
	if names, some := namesOf(terms); some {
		if len(names) == 0 {
			return nil, &refusal{reasons: []string{"pod affinity terms conflict"}, final: true}
		}
		c.only = names
	}
	mismatch := &refusal{reasons: []string{"node(s) didn't match Pod's node affinity/selector"}, final: true}
	return func(n *node) *refusal {
		if matches, err := required.Match(n.Node); !matches || err != nil {
			return mismatch
		}
		return nil
	}, nil
}

// namesOf returns the names of nodes that terms allow. It returns false if a term allows nodes of any name.
func namesOf(terms []corev1.NodeSelectorTerm) (names sets.Set[string], some bool) {
	for _, term := range terms {
		var ofTerm sets.Set[string]
		for _, field := range term.MatchFields {
			if field.Key != metav1.ObjectNameField || field.Operator != corev1.NodeSelectorOpIn {
				continue
			}
			if values := sets.New(field.Values...); ofTerm == nil {
				ofTerm = values
			} else {
				ofTerm = ofTerm.Intersection(values)
			}
		}
		if ofTerm == nil {
			return nil, false
		}
		names = names.Union(ofTerm)
	}
	return names, len(terms) > 0
}

func nodeAffinityAfterNode(pod *podInfo, before, after *corev1.Node) bool {
	required := nodeaffinity.GetRequiredNodeAffinity(pod.Pod)
	matches := func(n *corev1.Node) bool {
		if n == nil {
			return false
		}
		matches, _ := required.Match(n)
		return matches
	}
	return matches(after) && !matches(before)
}

// scoreNodeAffinity prefers the nodes that match the preferred terms with the highest sum of weights.
func scoreNodeAffinity(c *cycle, nodes []*node) []int64 {
	a := c.pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		return nil
	}
	preferred, err := nodeaffinity.NewPreferredSchedulingTerms(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	if err != nil {
		return nil // the server validates the terms
	}
	scores := make([]int64, len(nodes))
	for i, n := range nodes {
		scores[i] = preferred.Score(n.Node)
	}
	toPercent(scores)
	return scores
}

// refusePorts refuses the nodes on which another pod has a port that the pod needs.
func refusePorts(c *cycle) (filter, *refusal) {
	if len(c.pod.ports) == 0 {
		return nil, nil
	}
	taken := &refusal{reasons: []string{"node(s) didn't have free ports for the requested pod ports"}}
	return func(n *node) *refusal {
		if conflict(c.pod.ports, n.ports) {
			return taken
		}
		return nil
	}, nil
}

func conflict(want []corev1.ContainerPort, taken fwk.HostPortInfo) bool {
	return slices.ContainsFunc(want, func(p corev1.ContainerPort) bool {
		return taken.CheckConflict(p.HostIP, string(p.Protocol), p.HostPort)
	})
}

func portsAfterPod(pod, before, after *podInfo) bool {
	if before == nil || after != nil {
		return false
	}
	freed := fwk.HostPortInfo{}
	for _, p := range before.ports {
		freed.Add(p.HostIP, string(p.Protocol), p.HostPort)
	}
	return conflict(pod.ports, freed)
}
