package statefulset

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/cache"
)

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// existingClaim returns the claim of a pod for a template, or nil if it doesn't exist.
func (c *controller) existingClaim(namespace, name string) *corev1.PersistentVolumeClaim {
	obj, _, _ := c.Claims.GetStore().GetByKey(cache.NewObjectName(namespace, name).String())
	claim, _ := obj.(*corev1.PersistentVolumeClaim)
	return claim
}

// existingClaims returns the claims of a pod that exist.
func (c *controller) existingClaims(set *appsv1.StatefulSet, pod *corev1.Pod) (claims []*corev1.PersistentVolumeClaim) {
	for _, template := range set.Spec.VolumeClaimTemplates {
		if claim := c.existingClaim(set.Namespace, claimName(set, &template, pod)); claim != nil {
			claims = append(claims, claim)
		}
	}
	return claims
}

// createClaims creates the missing claims of a pod.
func (c *controller) createClaims(ctx context.Context, set *appsv1.StatefulSet, pod *corev1.Pod) error {
	var errs []error
	for _, claim := range newClaims(set, pod) {
		if existing := c.existingClaim(claim.Namespace, claim.Name); existing != nil {
			if existing.DeletionTimestamp != nil {
				errs = append(errs, fmt.Errorf("pvc %s is being deleted", claim.Name))
			}
			continue
		}
		_, err := c.Core.PersistentVolumeClaims(claim.Namespace).Create(ctx, claim, metav1.CreateOptions{})
		switch {
		case err == nil:
			c.Events.Tell(set, "SuccessfulCreate", "Create Claim %s Pod %s in StatefulSet %s success", claim.Name, pod.Name, set.Name)
			continue
		case !apierrors.IsAlreadyExists(err):
			c.Events.Warn(set, "FailedCreate", "Create Claim %s for Pod %s in StatefulSet %s failed error: %s", claim.Name, pod.Name, set.Name, err)
		}
		errs = append(errs, fmt.Errorf("failed to create PVC %s: %w", claim.Name, err))
	}
	return utilerrors.NewAggregate(errs)
}

// retention returns the policy for the claims of a StatefulSet, which keeps them by default.
func retention(set *appsv1.StatefulSet) appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy {
	if set.Spec.PersistentVolumeClaimRetentionPolicy != nil {
		return *set.Spec.PersistentVolumeClaimRetentionPolicy
	}
	return appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType, WhenScaled: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
	}
}

// claimOwner is an owner that a claim may have: the garbage collector deletes the claim with it.
type claimOwner struct {
	metav1.Object
	kind   schema.GroupVersionKind
	wanted bool
}

// claimOwners returns the StatefulSet and the pod of a claim, and which of them the policy wants to be its owner: the pod if
// the StatefulSet has been scaled down, or the StatefulSet.
func claimOwners(set *appsv1.StatefulSet, pod *corev1.Pod) []claimOwner {
	policy := retention(set)
	ofPod := policy.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType && !isWanted(set, pod)
	ofSet := policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType && !ofPod
	return []claimOwner{{set, kind, ofSet}, {pod, podKind, ofPod}}
}

// named reports whether a reference has the kind and the name of an owner. Its UID may be that of an earlier object.
func (o claimOwner) named(ref metav1.OwnerReference) bool {
	return ref.APIVersion == o.kind.GroupVersion().String() && ref.Kind == o.kind.Kind && ref.Name == o.GetName()
}

// isStale reports whether a claim belongs to an earlier object with the name of the owner.
func (o claimOwner) isStale(claim *corev1.PersistentVolumeClaim) bool {
	i := slices.IndexFunc(claim.OwnerReferences, o.named)
	return i >= 0 && claim.OwnerReferences[i].UID != o.GetUID()
}

// owns reports whether a claim has a reference to the owner.
func (o claimOwner) owns(claim *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == o.GetUID() })
}

// hasOtherController reports whether a claim that the policy may delete has another controller than the owners.
func hasOtherController(claim *corev1.PersistentVolumeClaim, set *appsv1.StatefulSet, owners []claimOwner) bool {
	policy := retention(set)
	if policy.WhenScaled == appsv1.RetainPersistentVolumeClaimRetentionPolicyType && policy.WhenDeleted == policy.WhenScaled {
		return false
	}
	return slices.ContainsFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool {
		for _, owner := range owners {
			if owner.named(ref) {
				return ref.UID != owner.GetUID()
			}
		}
		return ref.Controller != nil && *ref.Controller
	})
}

// isRetained reports whether a claim has the owners that the policy wants. A claim of an earlier StatefulSet or pod, or of
// another controller, isn't touched.
func isRetained(claim *corev1.PersistentVolumeClaim, set *appsv1.StatefulSet, owners []claimOwner) bool {
	switch {
	case slices.ContainsFunc(owners, func(o claimOwner) bool { return o.isStale(claim) }):
		return true
	case hasOtherController(claim, set, owners):
		return !slices.ContainsFunc(owners, func(o claimOwner) bool { return o.owns(claim) })
	}
	for _, owner := range owners {
		i := slices.IndexFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == owner.GetUID() })
		if (i >= 0) != owner.wanted {
			return false
		}
		if i >= 0 && (claim.OwnerReferences[i].Controller == nil || !*claim.OwnerReferences[i].Controller) {
			return false
		}
	}
	return true
}

// areRetained reports whether all claims of a pod have the owners that the policy wants.
func (c *controller) areRetained(set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	owners := claimOwners(set, pod)
	return !slices.ContainsFunc(c.existingClaims(set, pod), func(claim *corev1.PersistentVolumeClaim) bool { return !isRetained(claim, set, owners) })
}

// retain gives the claims of a pod the owners that the policy wants.
func (c *controller) retain(ctx context.Context, set *appsv1.StatefulSet, pod *corev1.Pod) error {
	owners := claimOwners(set, pod)
	for _, claim := range c.existingClaims(set, pod) {
		if err := c.retainClaim(ctx, set, claim, owners); err != nil {
			return fmt.Errorf("could not update claim %s for delete policy ownerRefs: %w", claim.Name, err)
		}
	}
	return nil
}

// retainClaim gives a claim the owners that the policy wants. A new claim is bound to a volume at the same time, so
// retainClaim reads the claim again after a conflict.
func (c *controller) retainClaim(ctx context.Context, set *appsv1.StatefulSet, claim *corev1.PersistentVolumeClaim, owners []claimOwner) error {
	foreign := hasOtherController(claim, set, owners)
	if foreign {
		c.Events.Warn(set, "ConflictingController", "PersistentVolumeClaim %s has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim", claim.Name)
	}
	if isRetained(claim, set, owners) {
		return nil
	}
	claims := c.Core.PersistentVolumeClaims(claim.Namespace)
	for {
		changed := claim.DeepCopy()
		changed.OwnerReferences = slices.DeleteFunc(changed.OwnerReferences, func(ref metav1.OwnerReference) bool {
			return slices.ContainsFunc(owners, func(o claimOwner) bool { return o.named(ref) })
		})
		for _, owner := range owners {
			if owner.wanted && !foreign && !owner.owns(changed) {
				changed.OwnerReferences = append(changed.OwnerReferences, *metav1.NewControllerRef(owner.Object, owner.kind))
			}
		}
		_, err := claims.Update(ctx, changed, metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) {
			return err
		}
		if claim, err = claims.Get(ctx, claim.Name, metav1.GetOptions{}); err != nil {
			return err
		}
	}
}

// waitsForClaim reports whether a pod to be created would get a claim that is about to be deleted with an earlier pod.
func (c *controller) waitsForClaim(set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	owner := claimOwner{Object: pod, kind: podKind}
	return retention(set).WhenScaled != appsv1.RetainPersistentVolumeClaimRetentionPolicyType &&
		slices.ContainsFunc(c.existingClaims(set, pod), owner.isStale)
}
