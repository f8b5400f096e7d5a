package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// refuseUsedVolumes refuses all nodes if a claim of the pod doesn't exist, or if another pod uses one with the access mode
// ReadWriteOncePod. It also refuses the nodes on which another pod uses a disk of the pod that only one pod of a node can have.
func refuseUsedVolumes(c *cycle) (filter, *refusal) {
	exclusive, err := c.storage.exclusiveClaims(c.pod.Pod)
	if err != nil {
		return nil, &refusal{reasons: []string{err.Error()}, final: true}
	}
	hasDisks := slices.ContainsFunc(c.pod.Spec.Volumes, isDisk)
	if len(exclusive) == 0 && !hasDisks {
		return nil, nil
	}
	uses := 0
	count := func(pod *podInfo, by int) {
		if pod.Namespace != c.pod.Namespace {
			return
		}
		for _, name := range plainClaims(pod.Pod) {
			if exclusive.Has(name) {
				uses += by
			}
		}
	}
	if len(exclusive) > 0 {
		for _, pod := range c.pods {
			count(pod, 1)
		}
		c.follow(func(pod *podInfo, _ *node, by int) { count(pod, by) })
	}
	inUse := &refusal{reasons: []string{"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"}}
	noDisk := &refusal{reasons: []string{"node(s) had no available disk"}}
	return func(n *node) *refusal {
		if hasDisks {
			for _, pod := range n.pods {
				if shareDisk(c.pod.Pod, pod.Pod) {
					return noDisk
				}
			}
		}
		if uses > 0 {
			return inUse
		}
		return nil
	}, nil
}

// plainClaims returns the names of the claims that a pod's volumes name.
func plainClaims(pod *corev1.Pod) (names []string) {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		}
	}
	return names
}

// exclusiveClaims returns the names of a pod's claims that one pod alone may use. It returns an error if a claim doesn't exist.
func (s storage) exclusiveClaims(pod *corev1.Pod) (sets.Set[string], error) {
	names := sets.New[string]()
	for _, name := range plainClaims(pod) {
		claim, err := s.claims.PersistentVolumeClaims(pod.Namespace).Get(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
			names.Insert(name)
		}
	}
	return names, nil
}

// isDisk reports whether a volume is a disk that pods of a node share only if they read it, or not at all.
func isDisk(v corev1.Volume) bool {
	return v.GCEPersistentDisk != nil || v.AWSElasticBlockStore != nil || v.ISCSI != nil || v.RBD != nil
}

// shareDisk reports whether two pods have a disk that they can't share.
func shareDisk(a, b *corev1.Pod) bool {
	return slices.ContainsFunc(a.Spec.Volumes, func(v corev1.Volume) bool {
		return isDisk(v) && slices.ContainsFunc(b.Spec.Volumes, func(other corev1.Volume) bool { return areOneDisk(v, other) })
	})
}

func areOneDisk(a, b corev1.Volume) bool {
	switch {
	case a.GCEPersistentDisk != nil && b.GCEPersistentDisk != nil:
		a, b := a.GCEPersistentDisk, b.GCEPersistentDisk
		return a.PDName == b.PDName && (!a.ReadOnly || !b.ReadOnly)
	case a.AWSElasticBlockStore != nil && b.AWSElasticBlockStore != nil:
		return a.AWSElasticBlockStore.VolumeID == b.AWSElasticBlockStore.VolumeID
	case a.ISCSI != nil && b.ISCSI != nil:
		return a.ISCSI.IQN == b.ISCSI.IQN && (!a.ISCSI.ReadOnly || !b.ISCSI.ReadOnly)
	case a.RBD != nil && b.RBD != nil:
		a, b := a.RBD, b.RBD
		return a.RBDPool == b.RBDPool && a.RBDImage == b.RBDImage && (!a.ReadOnly || !b.ReadOnly) &&
			sets.New(a.CephMonitors...).HasAny(b.CephMonitors...)
	}
	return false
}

func usedVolumesAfterPod(pod, before, after *podInfo) bool {
	return before != nil && after == nil && before.Namespace == pod.Namespace &&
		(shareDisk(pod.Pod, before.Pod) || sets.New(plainClaims(pod.Pod)...).HasAny(plainClaims(before.Pod)...))
}

func usedVolumesAfterStorage(pod *podInfo, before, after metav1.Object) bool {
	claim, ok := after.(*corev1.PersistentVolumeClaim)
	return ok && before == nil && pod.namesClaim(claim)
}

// namesClaim reports whether a volume of the pod names a claim.
func (p *podInfo) namesClaim(claim *corev1.PersistentVolumeClaim) bool {
	return p.Namespace == claim.Namespace && slices.Contains(plainClaims(p.Pod), claim.Name)
}
