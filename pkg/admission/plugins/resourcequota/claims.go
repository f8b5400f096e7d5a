package resourcequota

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

const (
	claimObjects = corev1.ResourceName("count/persistentvolumeclaims")
	// ofClass is the middle of the name CLASS.storageclass.storage.k8s.io/RESOURCE, by which a quota limits the
	// claims of a single storage class.
	ofClass = ".storageclass.storage.k8s.io/"
)

// claims returns the rules for persistent volume claims. A quota counts claims, and the storage that they request,
// in total and for each storage class.
func claims() rules {
	return rules{
		counts: func(name corev1.ResourceName) bool {
			for _, counted := range []corev1.ResourceName{corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage} {
				if name == counted || strings.HasSuffix(string(name), ofClass+string(counted)) {
					return true
				}
			}
			return name == claimObjects
		},
		handles: func(a admission.Attributes) bool {
			switch a.GetSubresource() {
			case "":
				return a.GetOperation() == admission.Create || a.GetOperation() == admission.Update
			case "status":
				return statusCounts(a)
			}
			return false
		},
		scope: func(scope corev1.ScopedResourceSelectorRequirement, object runtime.Object) (bool, error) {
			claim, err := as[*corev1.PersistentVolumeClaim](object)
			if err != nil || scope.ScopeName != corev1.ResourceQuotaScopeVolumeAttributesClass {
				return false, err
			}
			return selects(scope, attributesClasses(claim))
		},
		usage: func(object runtime.Object) (corev1.ResourceList, error) {
			claim, err := as[*corev1.PersistentVolumeClaim](object)
			if err != nil {
				return nil, err
			}
			usage := corev1.ResourceList{claimObjects: *one(), corev1.ResourcePersistentVolumeClaims: *one()}
			if storage := claimedStorage(claim); storage != nil {
				usage[corev1.ResourceRequestsStorage] = *storage
			}
			if class := storagehelpers.GetPersistentVolumeClaimClass(claim); class != "" {
				for _, counted := range []corev1.ResourceName{corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage} {
					if used, ok := usage[counted]; ok {
						usage[corev1.ResourceName(class+ofClass)+counted] = used
					}
				}
			}
			return usage, nil
		},
	}
}

// statusCounts reports whether a change of a claim's status changes the claim's usage: its allocated size, or its
// volume attributes class.
func statusCounts(a admission.Attributes) bool {
	claim, isClaim := a.GetObject().(*corev1.PersistentVolumeClaim)
	old, wasClaim := a.GetOldObject().(*corev1.PersistentVolumeClaim)
	return isClaim && wasClaim &&
		(claim.Status.AllocatedResources.Storage().Cmp(*old.Status.AllocatedResources.Storage()) != 0 ||
			!slices.Equal(attributesClasses(claim), attributesClasses(old)))
}

// claimedStorage returns the storage that a claim counts for, in whole bytes. It is the requested or the allocated
// size, whichever is larger. It is nil for a claim without a request.
func claimedStorage(claim *corev1.PersistentVolumeClaim) *resource.Quantity {
	storage, ok := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if !ok {
		return nil
	}
	if allocated, ok := claim.Status.AllocatedResources[corev1.ResourceStorage]; ok && allocated.Cmp(storage) > 0 {
		storage = allocated
	}
	storage = storage.DeepCopy()
	storage.RoundUp(0)
	return &storage
}

// attributesClasses returns the sorted names of the volume attributes classes that a claim has and requests.
func attributesClasses(claim *corev1.PersistentVolumeClaim) []string {
	var names []string
	for _, name := range []*string{claim.Spec.VolumeAttributesClassName, claim.Status.CurrentVolumeAttributesClassName} {
		if name != nil && *name != "" {
			names = append(names, *name)
		}
	}
	if modify := claim.Status.ModifyVolumeStatus; modify != nil && modify.TargetVolumeAttributesClassName != "" {
		names = append(names, modify.TargetVolumeAttributesClassName)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
