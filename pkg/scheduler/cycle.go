package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// owners has what selects pods, for the default constraints of topology spread.
type owners struct {
	services               corelisters.ServiceLister
	replicationControllers corelisters.ReplicationControllerLister
	replicaSets            appslisters.ReplicaSetLister
	statefulSets           appslisters.StatefulSetLister
}

// cycle is the decision about one pod.
type cycle struct {
	*cluster
	owners     owners
	storage    storage
	namespaces corelisters.NamespaceLister
	pod        *podInfo

	// only has the names of the only nodes that the plugin NodeAffinity allows, or is nil.
	only      sets.Set[string]
	filters   []named
	followers []func(pod *podInfo, n *node, by int)
}

// named is a filter with the name of its plugin.
type named struct {
	filter
	by string
}

// verdicts has the refusals of nodes, by the nodes' names.
type verdicts map[string]*refusal

// follow registers a function that is called when the cycle adds a pod to a node for a trial (by is 1), or removes it
// (by is -1).
func (c *cycle) follow(f func(pod *podInfo, n *node, by int)) { c.followers = append(c.followers, f) }

// prepare asks the plugins for their filters. It returns a refusal if a plugin refuses all nodes.
func (c *cycle) prepare() *refusal {
	for _, p := range plugins {
		if p.filter == nil {
			continue
		}
		filter, r := p.filter(c)
		if r != nil {
			r.by = p.name
			return r
		}
		if filter != nil {
			c.filters = append(c.filters, named{filter, p.name})
		}
	}
	return nil
}

// put adds a pod to a node for a trial. take removes it.
func (c *cycle) put(pod *podInfo, n *node) {
	n.add(pod)
	for _, f := range c.followers {
		f(pod, n, 1)
	}
}

func (c *cycle) take(pod *podInfo, n *node) {
	n.remove(pod)
	for _, f := range c.followers {
		f(pod, n, -1)
	}
}

// refuse returns the refusal of a node, or nil. The node must also do if the pods of the same or a higher priority that
// wait for the node are on it.
func (c *cycle) refuse(n *node) *refusal {
	var waiting []*podInfo
	for _, pod := range n.nominated {
		if pod.UID != c.pod.UID && pod.priority >= c.pod.priority && pod.on == nil {
			waiting = append(waiting, pod)
		}
	}
	if len(waiting) > 0 {
		for _, pod := range waiting {
			c.put(pod, n)
		}
		r := c.ask(n)
		for _, pod := range waiting {
			c.take(pod, n)
		}
		if r != nil {
			return r
		}
	}
	return c.ask(n)
}

func (c *cycle) ask(n *node) *refusal {
	for _, f := range c.filters {
		if r := f.filter(n); r != nil {
			r.by = f.by
			return r
		}
	}
	return nil
}

const (
	// enough is the least number of feasible nodes, and enoughPercent the least part of the nodes, after which
	// kube-scheduler looks for no more.
	enough, enoughPercent = 100, 5
)

// toFind returns the number of feasible nodes, of a number of nodes, after which kube-scheduler looks for no more.
func toFind(nodes int) int {
	return min(nodes, max(enough, nodes*max(enoughPercent, 50-nodes/125)/100))
}

// feasible returns nodes that no plugin refuses, as many as are enough, and the refusals of the others that it has asked
// for. The next cycle begins with the node after the last of them. If the pod waits for a node that is feasible, it returns
// this node alone.
func (c *cycle) feasible() (nodes []*node, refused verdicts) {
	refused = verdicts{}
	if n := c.nodes[c.pod.waitsFor]; n != nil && n.Node != nil && c.refuse(n) == nil {
		return []*node{n}, refused
	}
	excluded := &refusal{by: nodeAffinity, reasons: []string{"node(s) didn't satisfy plugin(s) [" + nodeAffinity + "]"}, final: true}
	candidates := len(c.existing)
	if c.only != nil {
		candidates = c.only.Len()
	}
	nodes = make([]*node, 0, toFind(candidates))
	first := c.first
	for i := range c.existing {
		if len(nodes) == cap(nodes) {
			break
		}
		at := (first + i) % len(c.existing)
		n := c.existing[at]
		c.first = at + 1
		if c.only != nil && !c.only.Has(n.name) {
			refused[n.name] = excluded
		} else if r := c.refuse(n); r != nil {
			refused[n.name] = r
		} else {
			nodes = append(nodes, n)
		}
	}
	return nodes, refused
}

// best returns the node with the highest sum of scores.
func (c *cycle) best(nodes []*node) *node {
	if len(nodes) == 1 {
		return nodes[0]
	}
	sums := make([]int64, len(nodes))
	for _, p := range plugins {
		if p.score == nil {
			continue
		}
		for i, score := range p.score(c, nodes) {
			sums[i] += p.weight * score
		}
	}
	return nodes[slices.Index(sums, slices.Max(sums))]
}

// unavailable returns a message about refused nodes.
func unavailable(total int, refused verdicts) string {
	counts := map[string]int{}
	for _, r := range refused {
		for _, reason := range r.reasons {
			counts[reason]++
		}
	}
	var parts []string
	for _, reason := range slices.Collect(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[reason], reason))
	}
	slices.Sort(parts)
	return noneAvailable(total) + " " + strings.Join(parts, ", ") + "."
}

func noneAvailable(total int) string { return fmt.Sprintf("0/%d nodes are available:", total) }
