package daemonset

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// limits returns the numbers of nodes that may have two pods during an update, and that may have no available pod.
func (r *rollout) limits(desired int) (surge, unavailable int) {
	rolling := r.set.Spec.UpdateStrategy.RollingUpdate
	if r.set.Spec.UpdateStrategy.Type != appsv1.RollingUpdateDaemonSetStrategyType || rolling == nil {
		return 0, 0
	}
	scaled := func(value *intstr.IntOrString) int {
		n, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(value, intstr.FromInt32(0)), desired, true)
		if err != nil {
			return 0 // the server has validated the value
		}
		return n
	}
	surge, unavailable = scaled(rolling.MaxSurge), scaled(rolling.MaxUnavailable)
	if desired > 0 && surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, unavailable
}

func (r *rollout) surges() bool {
	surge, _ := r.limits(1)
	return surge > 0
}

// daemon is the state of a node during an update.
type daemon struct {
	node        string
	runs        bool // whether the node needs a pod
	newest, old *corev1.Pod
	several     bool // whether the node has several new pods, or several old ones
}

// daemons returns the nodes that need pods, and those that have any.
func (r *rollout) daemons() (daemons []daemon, desired int) {
	needing := map[string]bool{}
	for _, node := range r.nodes {
		if runs, _ := r.placement.on(node); runs {
			needing[node.Name] = true
		}
	}
	names := maps.Clone(needing)
	for name := range r.pods {
		names[name] = names[name] || false
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d := daemon{node: name, runs: needing[name]}
		for _, pod := range r.pods[name] {
			kept := &d.old
			if r.isUpdated(pod) {
				kept = &d.newest
			}
			if pod.DeletionTimestamp != nil {
				continue
			}
			d.several = d.several || *kept != nil
			*kept = pod
		}
		daemons = append(daemons, d)
	}
	return daemons, len(needing)
}

// update returns the changes of a rolling update that are due: old pods to delete, or with a surge, nodes that get a new
// pod beside the old one.
func (r *rollout) update() changes {
	daemons, desired := r.daemons()
	surge, unavailable := r.limits(desired)
	if surge > 0 {
		return r.updateBeside(daemons, desired, surge)
	}
	var replaced, candidates []*corev1.Pod
	for _, d := range daemons {
		switch {
		case d.several || (d.old == nil) == (d.newest == nil):
			unavailable--
		case d.newest != nil:
			if !r.isAvailable(d.newest) {
				unavailable--
			}
		case !r.isAvailable(d.old):
			replaced = append(replaced, d.old)
			unavailable--
		default:
			candidates = append(candidates, d.old)
		}
	}
	return changes{delete: append(replaced, candidates[:min(max(unavailable, 0), len(candidates))]...)}
}

// updateBeside creates new pods beside old ones. An old pod is deleted when the new one is available, so that the node always
// has an available pod. On a node that needs no pod any more, an available old pod is deleted when enough others are
// available.
func (r *rollout) updateBeside(daemons []daemon, desired, surge int) (c changes) {
	var candidates []string
	var unneeded []*corev1.Pod
	available := 0
	for _, d := range daemons {
		if d.several {
			surge--
			continue
		}
		serving := d.old
		if serving == nil {
			serving = d.newest
		}
		if serving != nil && r.isAvailable(serving) {
			available++
		}
		switch {
		case d.old == nil:
		case d.newest != nil && r.isAvailable(d.newest):
			c.delete = append(c.delete, d.old)
		case d.newest != nil:
			surge--
		case !r.isAvailable(d.old) && !d.runs:
			c.delete = append(c.delete, d.old)
		case !r.isAvailable(d.old):
			c.create = append(c.create, d.node)
		case !d.runs:
			unneeded = append(unneeded, d.old)
		default:
			candidates = append(candidates, d.node)
		}
	}
	c.delete = append(c.delete, unneeded[:min(max(available-desired, 0), len(unneeded))]...)
	c.create = append(c.create, candidates[:min(max(surge, 0), len(candidates))]...)
	return c
}
