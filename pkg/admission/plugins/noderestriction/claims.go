package noderestriction

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// claim lets a kubelet report the progress of a volume expansion in the claim's status.
func claim(node string, a admission.Attributes) error {
	if a.GetSubresource() != "status" {
		return errors.New("may only update PVC status")
	}
	if a.GetOperation() != admission.Update {
		return fmt.Errorf("unexpected operation %q", a.GetOperation())
	}
	old, ok := a.GetOldObject().(*corev1.PersistentVolumeClaim)
	if !ok {
		return fmt.Errorf("unexpected type %T", a.GetOldObject())
	}
	claim, ok := a.GetObject().(*corev1.PersistentVolumeClaim)
	if !ok {
		return fmt.Errorf("unexpected type %T", a.GetObject())
	}
	if was, now := withoutGrowth(old), withoutGrowth(claim); !equality.Semantic.DeepEqual(was, now) {
		return fmt.Errorf("node %q is not allowed to update fields other than status.quantity and status.conditions: %s",
			node, validation.Difference(was, now))
	}
	return nil
}

// withoutGrowth returns a copy of a claim without the fields that a kubelet may change, and without the fields that
// an update may leave out.
func withoutGrowth(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	claim = claim.DeepCopy()
	claim.ResourceVersion = ""
	claim.ManagedFields = nil
	claim.Status.Capacity = nil
	claim.Status.Conditions = nil
	claim.Status.AllocatedResources = nil
	claim.Status.AllocatedResourceStatuses = nil
	return claim
}
