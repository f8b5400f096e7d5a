package scheduler

import (
	"maps"
	"math"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/utils/ptr"
)

const (
	skewed     = "node(s) didn't match pod topology spread constraints"
	noTopology = skewed + " (missing required label)"
)

// defaultConstraints are the constraints of pods that have none. They apply if a Service, or the pod's controller,
// selects the pod.
var defaultConstraints = []corev1.TopologySpreadConstraint{
	{TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, MaxSkew: 3},
	{TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway, MaxSkew: 5},
}

// constraint is a topology spread constraint of a pod.
type constraint struct {
	key                          string
	maxSkew, minDomains          int
	selector                     labels.Selector
	honorsAffinity, honorsTaints bool
}

// constraintsOf returns the constraints of a pod with one of the values of whenUnsatisfiable.
func constraintsOf(pod *podInfo, constraints []corev1.TopologySpreadConstraint, action corev1.UnsatisfiableConstraintAction) (all []constraint) {
	for _, c := range constraints {
		if c.WhenUnsatisfiable != action {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if err != nil {
			continue // the server validates the selector
		}
		for _, key := range c.MatchLabelKeys {
			if value, has := pod.Labels[key]; has {
				requirements, _ := labels.SelectorFromSet(labels.Set{key: value}).Requirements()
				selector = selector.Add(requirements...)
			}
		}
		all = append(all, constraint{
			key: c.TopologyKey, maxSkew: int(c.MaxSkew), minDomains: int(ptr.Deref(c.MinDomains, 1)), selector: selector,
			honorsAffinity: ptr.Deref(c.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor) == corev1.NodeInclusionPolicyHonor,
			honorsTaints:   ptr.Deref(c.NodeTaintsPolicy, corev1.NodeInclusionPolicyIgnore) == corev1.NodeInclusionPolicyHonor,
		})
	}
	return all
}

// counts reports whether the pods on a node count for a constraint.
func (t *constraint) counts(pod *podInfo, required nodeaffinity.RequiredNodeAffinity, n *node) bool {
	if t.honorsAffinity {
		if matches, _ := required.Match(n.Node); !matches {
			return false
		}
	}
	return !t.honorsTaints || !isTainted(pod, n.Node)
}

// on returns the numbers of pods that the constraint selects on the existing nodes, by the nodes' index.
func (t *constraint) on(c *cycle) []int {
	pods := make([]int, len(c.existing))
	if t.selector.Empty() {
		return pods
	}
	for like, group := range c.alike {
		if like.namespace != c.pod.Namespace || !t.selector.Matches(labels.Set(group.example.Labels)) {
			continue
		}
		for n, sum := range group.on {
			if n.Node != nil {
				pods[n.index] += sum.pods - sum.terminating
			}
		}
	}
	return pods
}

// hasTopologies reports whether a node has the labels of all constraints.
func hasTopologies(nodeLabels map[string]string, constraints []constraint) bool {
	for _, c := range constraints {
		if _, has := nodeLabels[c.key]; !has {
			return false
		}
	}
	return true
}

// domains has the numbers of selected pods in the domains of a constraint's topology.
type domains struct {
	constraint
	pods   map[string]int
	lowest int // the lowest of these numbers; -1 if it must be computed
	itself int // 1 if the constraint selects the pod itself, or else 0
}

// refuseSkew refuses the nodes on which the pod would violate one of its constraints.
func refuseSkew(c *cycle) (filter, *refusal) {
	constraints := constraintsOf(c.pod, c.pod.Spec.TopologySpreadConstraints, corev1.DoNotSchedule)
	if len(constraints) == 0 {
		return nil, nil
	}
	required := nodeaffinity.GetRequiredNodeAffinity(c.pod.Pod)
	all := make([]*domains, len(constraints))
	for i, t := range constraints {
		d := &domains{constraint: t, pods: map[string]int{}, lowest: -1}
		if t.selector.Matches(labels.Set(c.pod.Labels)) {
			d.itself = 1
		}
		on := t.on(c)
		for _, n := range c.existing {
			if hasTopologies(n.Labels, constraints) && t.counts(c.pod, required, n) {
				d.pods[n.Labels[t.key]] += on[n.index]
			}
		}
		all[i] = d
	}
	c.follow(func(pod *podInfo, n *node, by int) {
		if pod.Namespace != c.pod.Namespace || !hasTopologies(n.Labels, constraints) {
			return
		}
		for _, d := range all {
			if d.selector.Matches(labels.Set(pod.Labels)) && d.counts(c.pod, required, n) {
				d.pods[n.Labels[d.key]] += by
				d.lowest = -1
			}
		}
	})
	skew, missing := &refusal{reasons: []string{skewed}}, &refusal{reasons: []string{noTopology}, final: true}
	return func(n *node) *refusal {
		for _, d := range all {
			domain, has := n.Labels[d.key]
			if !has {
				return missing
			}
			if d.pods[domain]+d.itself-d.fewest() > d.maxSkew {
				return skew
			}
		}
		return nil
	}, nil
}

// fewest returns the number of pods in the domain with the fewest pods. It returns 0 if there are fewer domains than the
// constraint requires.
func (d *domains) fewest() int {
	if len(d.pods) < d.minDomains {
		return 0
	}
	if d.lowest < 0 {
		d.lowest = math.MaxInt
		for _, pods := range d.pods {
			d.lowest = min(d.lowest, pods)
		}
	}
	return d.lowest
}

func required(pod *podInfo) []constraint {
	return constraintsOf(pod, pod.Spec.TopologySpreadConstraints, corev1.DoNotSchedule)
}

func spreadAfterNode(pod *podInfo, before, after *corev1.Node) bool {
	constraints := required(pod)
	matches := func(n *corev1.Node) bool { return n != nil && hasTopologies(n.Labels, constraints) }
	if matches(before) != matches(after) {
		return true
	}
	if !matches(after) {
		return false
	}
	for _, c := range constraints {
		if before.Labels[c.key] != after.Labels[c.key] {
			return true
		}
	}
	return !equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints)
}

func spreadAfterPod(pod, before, after *podInfo) bool {
	selected := func(other *podInfo, c constraint) bool {
		return other != nil && other.Namespace == pod.Namespace && c.selector.Matches(labels.Set(other.Labels))
	}
	for _, c := range required(pod) {
		if selected(before, c) != selected(after, c) {
			return true
		}
	}
	return false
}

func spreadAfterItself(before, after *podInfo) bool {
	for _, c := range required(after) {
		if c.honorsTaints && tolerationsChanged(before, after) ||
			c.selector.Matches(labels.Set(before.Labels)) != c.selector.Matches(labels.Set(after.Labels)) {
			return true
		}
	}
	return false
}

func labelsChanged(before, after *podInfo) bool { return !maps.Equal(before.Labels, after.Labels) }

// scoreSpread prefers the nodes in domains with few of the pods that the constraints of the kind ScheduleAnyway select.
func scoreSpread(c *cycle, nodes []*node) []int64 {
	constraints, own := constraintsOf(c.pod, c.pod.Spec.TopologySpreadConstraints, corev1.ScheduleAnyway), len(c.pod.Spec.TopologySpreadConstraints) > 0
	if !own {
		selector := c.owners.selector(c.pod.Pod)
		if selector.Empty() {
			return nil
		}
		constraints = constraintsOf(c.pod, defaultConstraints, corev1.ScheduleAnyway)
		for i := range constraints {
			constraints[i].selector = selector
		}
	}
	if len(constraints) == 0 {
		return nil
	}
	// A node without the label of a topology counts only for the default constraints.
	qualifies := func(n *node) bool { return !own || hasTopologies(n.Labels, constraints) }
	scores := make([]int64, len(nodes))
	sums := make([]float64, len(nodes))
	var on []int
	for i, t := range constraints {
		if own || i == 0 { // the default constraints have the same selector
			on = t.on(c)
		}
		t.addTo(sums, c, nodes, on, qualifies)
	}
	lowest, highest := int64(math.MaxInt64), int64(0)
	for i, n := range nodes {
		if scores[i] = int64(math.Round(sums[i])); qualifies(n) {
			lowest, highest = min(lowest, scores[i]), max(highest, scores[i])
		}
	}
	for i, n := range nodes {
		switch {
		case !qualifies(n):
			scores[i] = 0
		case highest == 0:
			scores[i] = maxScore
		default:
			scores[i] = maxScore * (highest + lowest - scores[i]) / highest
		}
	}
	return scores
}

// addTo adds to the sum of each node what the constraint counts in the node's domain, where on has what it counts on each
// existing node. Constraints with many domains have more weight.
func (t *constraint) addTo(sums []float64, c *cycle, nodes []*node, on []int, qualifies func(*node) bool) {
	pods, size := map[string]int{}, 0
	for _, n := range nodes {
		switch {
		case !qualifies(n):
		case t.key == corev1.LabelHostname: // each node is a domain
			size++
		default:
			pods[n.Labels[t.key]] = 0
		}
	}
	if t.key != corev1.LabelHostname {
		size = len(pods)
		required := nodeaffinity.GetRequiredNodeAffinity(c.pod.Pod)
		for _, n := range c.existing {
			if on[n.index] == 0 || !qualifies(n) || !t.counts(c.pod, required, n) {
				continue
			}
			domain := n.Labels[t.key]
			if sum, wanted := pods[domain]; wanted {
				pods[domain] = sum + on[n.index]
			}
		}
	}
	weight := math.Log(float64(size + 2))
	for i, n := range nodes {
		domain, has := n.Labels[t.key]
		if !has || !qualifies(n) {
			continue
		}
		count := pods[domain]
		if t.key == corev1.LabelHostname {
			count = on[n.index]
		}
		sums[i] += float64(count)*weight + float64(t.maxSkew-1)
	}
}

// selector returns what the Services of a pod and its controller select, or an empty selector.
func (o owners) selector(pod *corev1.Pod) labels.Selector {
	selected := labels.Set{}
	if services, err := o.services.Services(pod.Namespace).List(labels.Everything()); err == nil {
		for _, service := range services {
			if len(service.Spec.Selector) > 0 && labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) {
				maps.Copy(selected, service.Spec.Selector)
			}
		}
	}
	selector := selected.AsSelector()
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return selector
	}
	var ofOwner *metav1.LabelSelector
	switch owner.APIVersion + " " + owner.Kind {
	case corev1.SchemeGroupVersion.String() + " ReplicationController":
		if rc, err := o.replicationControllers.ReplicationControllers(pod.Namespace).Get(owner.Name); err == nil {
			ofOwner = &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}
		}
	case appsv1.SchemeGroupVersion.String() + " ReplicaSet":
		if rs, err := o.replicaSets.ReplicaSets(pod.Namespace).Get(owner.Name); err == nil {
			ofOwner = rs.Spec.Selector
		}
	case appsv1.SchemeGroupVersion.String() + " StatefulSet":
		if set, err := o.statefulSets.StatefulSets(pod.Namespace).Get(owner.Name); err == nil {
			ofOwner = set.Spec.Selector
		}
	}
	if ofOwner == nil {
		return selector
	}
	more, err := metav1.LabelSelectorAsSelector(ofOwner)
	if err != nil {
		return selector
	}
	requirements, _ := more.Requirements()
	return selector.Add(requirements...)
}
