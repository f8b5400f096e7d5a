package scheduler

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// topology is a label of nodes. The nodes with the same label form a domain.
type topology struct{ key, value string }

// matches has the numbers of pods that match terms, by the domain of the pods' nodes.
type matches map[topology]int

func (m matches) add(n *node, key string, by int) {
	value, has := n.Labels[key]
	if !has {
		return
	}
	at := topology{key, value}
	if m[at] += by; m[at] == 0 {
		delete(m, at)
	}
}

// resolve returns terms of a waiting pod in which names of namespaces take the place of the selectors of namespaces. So
// the terms match a pod without a look at the labels of its namespace.
func (c *cycle) resolve(terms []fwk.AffinityTerm) []fwk.AffinityTerm {
	terms = slices.Clone(terms)
	for i := range terms {
		c.resolveTerm(&terms[i])
	}
	return terms
}

func (c *cycle) resolveTerm(term *fwk.AffinityTerm) {
	if term.NamespaceSelector.Empty() {
		// An empty selector selects all namespaces. It matches without labels.
		return
	}
	names := sets.New[string]()
	if selected, err := c.namespaces.List(term.NamespaceSelector); err == nil {
		for _, namespace := range selected {
			names.Insert(namespace.Name)
		}
	}
	term.Namespaces, term.NamespaceSelector = term.Namespaces.Union(names), labels.Nothing()
}

func (c *cycle) namespaceLabels() labels.Set {
	if namespace, err := c.namespaces.Get(c.pod.Namespace); err == nil {
		return namespace.Labels
	}
	return nil
}

// matchesAll reports whether there are terms, and a pod matches all of them.
func matchesAll(terms []fwk.AffinityTerm, pod *corev1.Pod) bool {
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(t fwk.AffinityTerm) bool { return !t.Matches(pod, nil) })
}

func matchesAny(terms []fwk.AffinityTerm, pod *corev1.Pod) bool {
	return slices.ContainsFunc(terms, func(t fwk.AffinityTerm) bool { return t.Matches(pod, nil) })
}

// refusePodAffinity refuses the nodes on which the required affinity or anti-affinity of the pod, or the required
// anti-affinity of another pod, would be violated.
func refusePodAffinity(c *cycle) (filter, *refusal) {
	affinity, antiAffinity := c.resolve(c.pod.affinity), c.resolve(c.pod.antiAffinity)
	namespace := c.namespaceLabels()
	wanted, unwanted, rejecting := matches{}, matches{}, matches{}
	// near counts pods of a node for the terms of the waiting pod. All of them are like the example.
	near := func(example *corev1.Pod, n *node, by int) {
		if matchesAll(affinity, example) {
			for _, t := range affinity {
				wanted.add(n, t.TopologyKey, by)
			}
		}
		for _, t := range antiAffinity {
			if t.Matches(example, nil) {
				unwanted.add(n, t.TopologyKey, by)
			}
		}
	}
	// rejects counts the terms of a pod on a node that match the waiting pod.
	rejects := func(pod *podInfo, n *node, by int) {
		for _, t := range pod.antiAffinity {
			if t.Matches(c.pod.Pod, namespace) {
				rejecting.add(n, t.TopologyKey, by)
			}
		}
	}
	terms := len(affinity)+len(antiAffinity) > 0
	if terms {
		c.eachAlike(near)
	}
	for _, n := range c.existing {
		for _, pod := range n.withTerms {
			rejects(pod, n, 1)
		}
	}
	if !terms && len(rejecting) == 0 {
		return nil, nil
	}
	c.follow(func(pod *podInfo, n *node, by int) {
		near(pod.Pod, n, by)
		rejects(pod, n, by)
	})
	mismatch := &refusal{reasons: []string{"node(s) didn't match pod affinity rules"}, final: true}
	unwelcome := &refusal{reasons: []string{"node(s) didn't match pod anti-affinity rules"}}
	rejected := &refusal{reasons: []string{"node(s) didn't satisfy existing pods anti-affinity rules"}}
	return func(n *node) *refusal {
		if !satisfies(affinity, n, wanted, c.pod.Pod) {
			return mismatch
		}
		for _, t := range antiAffinity {
			if value, has := n.Labels[t.TopologyKey]; has && unwanted[topology{t.TopologyKey, value}] > 0 {
				return unwelcome
			}
		}
		for key, value := range n.Labels {
			if rejecting[topology{key, value}] > 0 {
				return rejected
			}
		}
		return nil
	}, nil
}

// eachAlike calls f for each existing node, and for each group of pods on the node that are alike, with one of these pods
// and their number.
func (c *cycle) eachAlike(f func(example *corev1.Pod, n *node, pods int)) {
	for _, group := range c.alike {
		for n, sum := range group.on {
			if n.Node != nil {
				f(group.example, n, sum.pods)
			}
		}
	}
}

// satisfies reports whether a pod with required affinity may get a node: each term has a match in the node's domain. The
// first pod of those that want to be near each other has no match anywhere, but matches its own terms.
func satisfies(affinity []fwk.AffinityTerm, n *node, wanted matches, pod *corev1.Pod) bool {
	all := true
	for _, t := range affinity {
		value, has := n.Labels[t.TopologyKey]
		if !has {
			return false
		}
		all = all && wanted[topology{t.TopologyKey, value}] > 0
	}
	return all || len(wanted) == 0 && matchesAll(affinity, pod)
}

func podAffinityAfterNode(pod *podInfo, before, after *corev1.Node) bool {
	if after == nil {
		return false
	}
	if before == nil && len(pod.antiAffinity) > 0 {
		return true
	}
	changed := func(key string, lost bool) bool {
		value, has := after.Labels[key]
		if before == nil {
			return has
		}
		old, had := before.Labels[key]
		return had && has && value != old || lost && had && !has || !lost && has && !had
	}
	for _, t := range pod.affinity {
		if changed(t.TopologyKey, false) {
			return true
		}
	}
	for _, t := range pod.antiAffinity {
		if changed(t.TopologyKey, true) {
			return true
		}
	}
	return false
}

func podAffinityAfterPod(pod, before, after *podInfo) bool {
	switch {
	case before == nil:
		return matchesAll(pod.affinity, after.Pod)
	case after == nil:
		return matchesAny(pod.antiAffinity, before.Pod) || matchesAny(before.antiAffinity, pod.Pod)
	}
	return !matchesAll(pod.affinity, before.Pod) && matchesAll(pod.affinity, after.Pod) ||
		matchesAny(pod.antiAffinity, before.Pod) && !matchesAny(pod.antiAffinity, after.Pod)
}

// hardAffinityWeight is the weight of a required term of another pod that matches the waiting pod.
const hardAffinityWeight = 1

// scorePodAffinity prefers the nodes in whose domains preferred terms of the pod match other pods, or terms of other pods
// match the pod.
func scorePodAffinity(c *cycle, nodes []*node) []int64 {
	weights := matches{}
	addAll := func(terms []fwk.WeightedAffinityTerm, pod *corev1.Pod, namespace labels.Set, n *node, by int) {
		for _, t := range terms {
			if t.Matches(pod, namespace) {
				weights.add(n, t.TopologyKey, by*int(t.Weight))
			}
		}
	}
	preferred, avoided := slices.Clone(c.pod.preferred), slices.Clone(c.pod.avoided)
	for _, terms := range [][]fwk.WeightedAffinityTerm{preferred, avoided} {
		for i := range terms {
			c.resolveTerm(&terms[i].AffinityTerm)
		}
	}
	namespace := c.namespaceLabels()
	if len(preferred)+len(avoided) > 0 {
		c.eachAlike(func(example *corev1.Pod, n *node, pods int) {
			addAll(preferred, example, nil, n, pods)
			addAll(avoided, example, nil, n, -pods)
		})
	}
	for _, n := range c.existing {
		for _, pod := range n.withTerms {
			for _, t := range pod.affinity {
				if t.Matches(c.pod.Pod, namespace) {
					weights.add(n, t.TopologyKey, hardAffinityWeight)
				}
			}
			addAll(pod.preferred, c.pod.Pod, namespace, n, 1)
			addAll(pod.avoided, c.pod.Pod, namespace, n, -1)
		}
	}
	if len(weights) == 0 {
		return nil
	}
	keys := sets.New[string]()
	for at := range maps.Keys(weights) {
		keys.Insert(at.key)
	}
	scores := make([]int64, len(nodes))
	lowest, highest := int64(math.MaxInt64), int64(math.MinInt64)
	for i, n := range nodes {
		for key := range keys {
			if value, has := n.Labels[key]; has {
				scores[i] += int64(weights[topology{key, value}])
			}
		}
		lowest, highest = min(lowest, scores[i]), max(highest, scores[i])
	}
	for i := range scores {
		if highest > lowest {
			scores[i] = int64(maxScore * (float64(scores[i]-lowest) / float64(highest-lowest)))
		} else {
			scores[i] = 0
		}
	}
	return scores
}
