package scheduler

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
)

// cluster has the nodes and the pods on them. A pod is on a node if it is bound to the node, or if the scheduler has
// chosen the node and binds the pod.
type cluster struct {
	nodes map[string]*node
	// existing has the nodes that exist, by name. The map nodes also has nodes that don't exist, but have pods.
	existing []*node
	first    int // the index in existing of the node that the next cycle asks for first
	pods     map[types.UID]*podInfo
	alike    map[likeness]*alike
}

func newCluster() cluster {
	return cluster{nodes: map[string]*node{}, pods: map[types.UID]*podInfo{}, alike: map[likeness]*alike{}}
}

// node is a node with its pods, and sums over them.
type node struct {
	*corev1.Node // nil if the node doesn't exist
	name         string
	index        int // in existing, if the node exists
	allocatable  amounts
	slots        int // the number of pods that the node takes

	pods map[types.UID]*podInfo
	// requested is the sum of the pods' requests. scored is the same sum for scores: it counts a minimum for a container
	// without requests.
	requested, scored amounts
	ports             fwk.HostPortInfo
	alike             map[likeness]*alike    // that of the cluster
	withTerms         map[types.UID]*podInfo // the pods with terms of affinity or anti-affinity
	// nominated has the pods that wait until preempted pods have left this node.
	nominated map[types.UID]*podInfo
}

// likeness is what selectors of pods tell apart.
type likeness struct{ namespace, labels string }

// alike counts the pods on nodes that have the same namespace and labels. Selectors are asked once for all of them.
type alike struct {
	likeness
	example *corev1.Pod
	on      map[*node]tally
}

// tally is a number of pods.
type tally struct{ pods, terminating int }

// node returns the node of a name, and adds it if it is unknown.
func (c *cluster) node(name string) *node {
	n := c.nodes[name]
	if n == nil {
		n = &node{
			name: name, pods: map[types.UID]*podInfo{}, ports: fwk.HostPortInfo{}, alike: c.alike,
			withTerms: map[types.UID]*podInfo{}, nominated: map[types.UID]*podInfo{},
		}
		c.nodes[name] = n
	}
	return n
}

// setNode adds or replaces a node. It returns the replaced node, or nil.
func (c *cluster) setNode(object *corev1.Node) (old *corev1.Node) {
	n := c.node(object.Name)
	old, n.Node = n.Node, object
	n.allocatable = amountsOf(object.Status.Allocatable)
	n.slots = int(object.Status.Allocatable.Pods().Value())
	if old == nil {
		i, _ := slices.BinarySearchFunc(c.existing, n.name, byName)
		c.existing = slices.Insert(c.existing, i, n)
		c.number(i)
	}
	return old
}

// removeNode removes a node. Its pods are still known.
func (c *cluster) removeNode(name string) {
	n := c.nodes[name]
	if n == nil || n.Node == nil {
		return
	}
	n.Node = nil
	if i, found := slices.BinarySearchFunc(c.existing, name, byName); found {
		c.existing = slices.Delete(c.existing, i, i+1)
		c.number(i)
	}
	c.forget(n)
}

// number sets the index of the existing nodes from the first one on.
func (c *cluster) number(first int) {
	for i, n := range c.existing[first:] {
		n.index = first + i
	}
}

func byName(n *node, name string) int { return cmp.Compare(n.name, name) }

// forget drops a node that doesn't exist, has no pods, and waits for none.
func (c *cluster) forget(n *node) {
	if n.Node == nil && len(n.pods) == 0 && len(n.nominated) == 0 {
		delete(c.nodes, n.name)
	}
}

// assign adds a pod to a node, or replaces it. It returns the replaced pod, or nil.
func (c *cluster) assign(pod *podInfo, name string) (old *podInfo) {
	old = c.unassign(pod.UID)
	pod.on = c.node(name)
	pod.on.add(pod)
	c.pods[pod.UID] = pod
	return old
}

// unassign removes a pod from its node. It returns the pod, or nil if it isn't on a node.
func (c *cluster) unassign(uid types.UID) *podInfo {
	pod := c.pods[uid]
	if pod == nil {
		return nil
	}
	delete(c.pods, uid)
	n := pod.on
	n.remove(pod)
	pod.on = nil
	c.forget(n)
	return pod
}

// nominate records that a pod waits for a node. The pod doesn't wait for another node any more. If name is "", the pod
// waits for none.
func (c *cluster) nominate(pod *podInfo, name string) {
	if pod.waitsFor == name {
		return
	}
	if n := c.nodes[pod.waitsFor]; n != nil {
		delete(n.nominated, pod.UID)
		c.forget(n)
	}
	if pod.waitsFor = name; name != "" {
		c.node(name).nominated[pod.UID] = pod
	}
}

func (n *node) add(pod *podInfo) {
	n.pods[pod.UID] = pod
	n.count(pod, 1)
	for _, p := range pod.ports {
		n.ports.Add(p.HostIP, string(p.Protocol), p.HostPort)
	}
	if pod.hasTerms() {
		n.withTerms[pod.UID] = pod
	}
}

func (n *node) remove(pod *podInfo) {
	delete(n.pods, pod.UID)
	delete(n.withTerms, pod.UID)
	n.count(pod, -1)
	for _, p := range pod.ports {
		n.ports.Remove(p.HostIP, string(p.Protocol), p.HostPort)
	}
}

func (n *node) count(pod *podInfo, by int) {
	n.requested.add(pod.requests, int64(by))
	n.scored.add(pod.scored, int64(by))
	group := n.alike[pod.likeness]
	if group == nil {
		group = &alike{likeness: pod.likeness, example: pod.Pod, on: map[*node]tally{}}
		n.alike[pod.likeness] = group
	}
	pod.likeness = group.likeness // the pods of a group share its text
	sum := group.on[n]
	sum.pods += by
	if pod.DeletionTimestamp != nil {
		sum.terminating += by
	}
	if group.on[n] = sum; sum.pods == 0 {
		delete(group.on, n)
	}
	if len(group.on) == 0 {
		delete(n.alike, group.likeness)
	}
}

// podInfo is a pod with what the plugins need of it.
type podInfo struct {
	*corev1.Pod
	priority         int32
	requests, scored amounts
	ports            []corev1.ContainerPort // the ports on the node
	likeness         likeness
	// Required and preferred terms of the pod.
	affinity, antiAffinity []fwk.AffinityTerm
	preferred, avoided     []fwk.WeightedAffinityTerm
	on                     *node  // the node of the pod, if it has one
	waitsFor               string // the node for which the pod is nominated
}

func newPodInfo(pod *corev1.Pod) *podInfo {
	p := &podInfo{Pod: pod, likeness: likeness{pod.Namespace, labels.Set(pod.Labels).String()}}
	if pod.Spec.Priority != nil {
		p.priority = *pod.Spec.Priority
	}
	p.requests, p.scored = requestsOf(pod)
	for _, container := range pod.Spec.InitContainers {
		if policy := container.RestartPolicy; policy != nil && *policy == corev1.ContainerRestartPolicyAlways {
			p.addPorts(container)
		}
	}
	for _, container := range pod.Spec.Containers {
		p.addPorts(container)
	}
	// The server validates the selectors of the terms, so the errors are impossible.
	p.affinity, _ = fwk.GetAffinityTerms(pod, fwk.GetPodAffinityTerms(pod.Spec.Affinity))
	p.antiAffinity, _ = fwk.GetAffinityTerms(pod, fwk.GetPodAntiAffinityTerms(pod.Spec.Affinity))
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		p.preferred, _ = fwk.GetWeightedAffinityTerms(pod, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		p.avoided, _ = fwk.GetWeightedAffinityTerms(pod, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return p
}

// isAssumed reports whether the scheduler has chosen the pod's node, and hasn't seen yet that the pod is bound.
func (p *podInfo) isAssumed() bool { return p.on != nil && p.Spec.NodeName == "" }

func (p *podInfo) addPorts(container corev1.Container) {
	for _, port := range container.Ports {
		if port.HostPort > 0 {
			p.ports = append(p.ports, port)
		}
	}
}

func (p *podInfo) hasTerms() bool {
	return len(p.affinity)+len(p.antiAffinity)+len(p.preferred)+len(p.avoided) > 0
}
