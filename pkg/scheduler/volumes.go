package scheduler

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"
)

const (
	// volumeBinding is the name of a plugin, which some messages have.
	volumeBinding = "VolumeBinding"

	// bindTimeout is the time that claims have to be bound before their pod is scheduled again.
	bindTimeout = 10 * time.Minute
)

// storage has the claims of pods, what they can be bound to, and what CSI drivers can do on nodes.
type storage struct {
	claims            corelisters.PersistentVolumeClaimLister
	volumes           corelisters.PersistentVolumeLister
	classes           storagelisters.StorageClassLister
	drivers           storagelisters.CSIDriverLister
	capacities        storagelisters.CSIStorageCapacityLister
	nodes             storagelisters.CSINodeLister
	volumeAttachments storagelisters.VolumeAttachmentLister
}

// claimNames returns the names of a pod's claims, with the volumes that have them.
func claimNames(pod *corev1.Pod) map[string]*corev1.Volume {
	names := map[string]*corev1.Volume{}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		switch {
		case v.PersistentVolumeClaim != nil:
			names[v.PersistentVolumeClaim.ClaimName] = v
		case v.Ephemeral != nil:
			names[ephemeral.VolumeClaimName(pod, v)] = v
		}
	}
	return names
}

func (p *podInfo) usesClaim(claim *corev1.PersistentVolumeClaim) bool {
	return p.Namespace == claim.Namespace && claimNames(p.Pod)[claim.Name] != nil
}

func isBound(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Spec.VolumeName != "" && metav1.HasAnnotation(claim.ObjectMeta, volume.AnnBindCompleted)
}

// claimsOf returns the claims of a pod: those that are bound, and those that are bound when the pod has a node. A message
// says why the pod can't be scheduled with its claims.
func (s storage) claimsOf(pod *corev1.Pod) (bound, delayed []*corev1.PersistentVolumeClaim, message string) {
	names := claimNames(pod)
	immediate := false
	for _, name := range slices.Sorted(maps.Keys(names)) {
		isEphemeral := names[name].Ephemeral != nil
		claim, err := s.claims.PersistentVolumeClaims(pod.Namespace).Get(name)
		switch {
		case err != nil && isEphemeral:
			return nil, nil, fmt.Sprintf("waiting for ephemeral volume controller to create the persistentvolumeclaim %q", name)
		case err != nil:
			return nil, nil, err.Error()
		case claim.Status.Phase == corev1.ClaimLost:
			return nil, nil, fmt.Sprintf("persistentvolumeclaim %q bound to non-existent persistentvolume %q", claim.Name, claim.Spec.VolumeName)
		case claim.DeletionTimestamp != nil:
			return nil, nil, fmt.Sprintf("persistentvolumeclaim %q is being deleted", claim.Name)
		}
		if isEphemeral {
			if err := ephemeral.VolumeIsForPod(pod, claim); err != nil {
				return nil, nil, err.Error()
			}
		}
		waits, err := volume.IsDelayBindingMode(claim, s.classes)
		switch {
		case isBound(claim):
			bound = append(bound, claim)
		case err == nil && waits && claim.Spec.VolumeName == "":
			delayed = append(delayed, claim)
		default:
			immediate = true
		}
	}
	if immediate {
		message = "pod has unbound immediate PersistentVolumeClaims"
	}
	return bound, delayed, message
}

// refuseVolumes refuses the nodes that can't have the volumes of the pod.
func refuseVolumes(c *cycle) (filter, *refusal) {
	bound, delayed, message := c.storage.claimsOf(c.pod.Pod)
	if message != "" {
		return nil, &refusal{reasons: []string{message}, final: true}
	}
	if len(bound)+len(delayed) == 0 {
		return nil, nil
	}
	return func(n *node) *refusal {
		reasons := sets.New[string]()
		for _, claim := range bound {
			v, err := c.storage.volumes.Get(claim.Spec.VolumeName)
			if err != nil {
				reasons.Insert("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)")
			} else if volume.CheckNodeAffinity(v, n.Labels) != nil {
				reasons.Insert("node(s) didn't match PersistentVolume's node affinity")
			}
		}
		if _, reason := c.storage.choose(delayed, n.Node); reason != "" {
			reasons.Insert(reason)
		}
		if reasons.Len() == 0 {
			return nil
		}
		return &refusal{reasons: sets.List(reasons), final: true}
	}, nil
}

const (
	nothingToBind = "node(s) didn't find available persistent volumes to bind"
	noCapacity    = "node(s) did not have enough free storage"
)

// choose returns a volume for each claim that is bound when its pod has the node, for the smallest claim first. A claim
// without a volume gets one from its provisioner. The reason says why a claim can have no volume on the node.
func (s storage) choose(claims []*corev1.PersistentVolumeClaim, n *corev1.Node) (chosen map[*corev1.PersistentVolumeClaim]*corev1.PersistentVolume, reason string) {
	if len(claims) == 0 {
		return nil, ""
	}
	volumes, err := s.volumes.List(labels.Everything())
	if err != nil {
		return nil, nothingToBind
	}
	chosen = map[*corev1.PersistentVolumeClaim]*corev1.PersistentVolume{}
	taken := map[string]*corev1.PersistentVolume{}
	var provisioned []*corev1.PersistentVolumeClaim
	for _, claim := range slices.SortedStableFunc(slices.Values(claims), bySize) {
		if selected, ok := claim.Annotations[volume.AnnSelectedNode]; ok { // a provisioner makes the volume
			if selected != n.Name {
				return nil, nothingToBind
			}
			provisioned = append(provisioned, claim)
			continue
		}
		v, err := volume.FindMatchingVolume(claim, volumes, n, taken, false, true)
		switch {
		case err != nil:
			return nil, nothingToBind
		case v != nil:
			chosen[claim], taken[v.Name] = v, v
		default:
			provisioned = append(provisioned, claim)
		}
	}
	for _, claim := range provisioned {
		if reason := s.provision(claim, n); reason != "" {
			return nil, reason
		}
	}
	return chosen, ""
}

func bySize(a, b *corev1.PersistentVolumeClaim) int {
	size := a.Spec.Resources.Requests[corev1.ResourceStorage]
	return size.Cmp(b.Spec.Resources.Requests[corev1.ResourceStorage])
}

// provision says why the class of a claim has no provisioner that makes a volume for a node, or returns "".
func (s storage) provision(claim *corev1.PersistentVolumeClaim, n *corev1.Node) (reason string) {
	class, err := s.classes.Get(volume.GetPersistentVolumeClaimClass(claim))
	switch {
	case err != nil, class.Provisioner == "", class.Provisioner == volume.NotSupportedProvisioner, !allows(class, n):
		return nothingToBind
	case !s.hasCapacity(class, claim, n):
		return noCapacity
	}
	return ""
}

// allows reports whether a node is in one of the allowed topologies of a class.
func allows(class *storagev1.StorageClass, n *corev1.Node) bool {
	return len(class.AllowedTopologies) == 0 || slices.ContainsFunc(class.AllowedTopologies, func(term corev1.TopologySelectorTerm) bool {
		return !slices.ContainsFunc(term.MatchLabelExpressions, func(r corev1.TopologySelectorLabelRequirement) bool {
			value, has := n.Labels[r.Key]
			return !has || !slices.Contains(r.Values, value)
		})
	})
}

func volumesAfterStorage(pod *podInfo, before, after metav1.Object) bool {
	switch after := after.(type) {
	case *corev1.PersistentVolume:
		return true
	case *corev1.PersistentVolumeClaim:
		return pod.usesClaim(after)
	case *storagev1.StorageClass:
		old, ok := before.(*storagev1.StorageClass)
		return !ok || !equality.Semantic.DeepEqual(old.AllowedTopologies, after.AllowedTopologies)
	case *storagev1.CSIStorageCapacity:
		old, _ := before.(*storagev1.CSIStorageCapacity)
		return capacityGrew(old, after)
	case *storagev1.CSIDriver:
		old, ok := before.(*storagev1.CSIDriver)
		return ok && ptr.Deref(old.Spec.StorageCapacity, false) && !ptr.Deref(after.Spec.StorageCapacity, false)
	case *storagev1.CSINode:
		return before == nil
	}
	return false
}

// bindClaims begins to bind the claims of a pod that wait for its node. It returns the time that they have left to be
// bound, or 0 if all are bound. A provisioner that takes its node from a claim can't make the volume there.
func (s *scheduler) bindClaims(ctx context.Context, o *outcome) (left time.Duration, err error) {
	if len(claimNames(o.pod.Pod)) == 0 {
		return 0, nil
	}
	s.mu.Lock()
	givenUp := o.givenUp
	s.mu.Unlock()
	_, delayed, message := s.storage.claimsOf(o.pod.Pod)
	switch {
	case givenUp != "":
		return 0, fmt.Errorf("binding volumes: provisioning failed for PVC %q", givenUp)
	case !o.since.IsZero() && len(delayed) == 0 && message == "":
		return 0, nil
	case !o.since.IsZero():
		if left = bindTimeout - time.Since(o.since); left <= 0 {
			return 0, fmt.Errorf("binding volumes: %w", context.DeadlineExceeded)
		}
		return left, nil
	case len(delayed) == 0:
		return 0, nil
	}
	if err := s.patch(ctx, o.pod.Pod, nil, &o.node); err != nil {
		return 0, err
	}
	s.mu.Lock()
	n := s.cluster.node(o.node).Node
	s.mu.Unlock()
	if n == nil {
		return 0, fmt.Errorf("node %q not found", o.node)
	}
	chosen, reason := s.storage.choose(delayed, n)
	if reason != "" {
		return 0, fmt.Errorf("node %q: %s", o.node, reason)
	}
	for _, claim := range delayed {
		if err := s.bindClaim(ctx, claim, chosen[claim], o.node); err != nil {
			return 0, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o.since = time.Now()
	return bindTimeout, nil
}

// bindClaim refers a volume to a claim. If v is nil, it tells the provisioner of the claim's class the node.
func (s *scheduler) bindClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume, node string) error {
	if v == nil {
		changed := claim.DeepCopy()
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, volume.AnnSelectedNode, node)
		_, err := s.Client.PersistentVolumeClaims(claim.Namespace).Update(ctx, changed, metav1.UpdateOptions{})
		return err
	}
	changed, differs, err := volume.GetBindVolumeToClaim(v, claim)
	if err == nil && differs {
		_, err = s.Client.PersistentVolumes().Update(ctx, changed, metav1.UpdateOptions{})
	}
	return err
}
