package warnings

import (
	"context"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// StorageClass returns the warnings of a storage class.
func StorageClass(_ context.Context, c, _ *storagev1.StorageClass) []string {
	var l List
	for i, topology := range c.AllowedTopologies {
		for j, requirement := range topology.MatchLabelExpressions {
			path := field.NewPath("allowedTopologies").Index(i).Child("matchLabelExpressions").Index(j).Child("key")
			l.NodeLabel(path, requirement.Key, false)
		}
	}
	return l
}

// CSIStorageCapacity returns the warnings of a storage capacity.
func CSIStorageCapacity(_ context.Context, c, _ *storagev1.CSIStorageCapacity) []string {
	var l List
	l.NodeLabelSelector(field.NewPath("nodeTopology"), c.NodeTopology)
	return l
}

// CSIDriver returns the warnings of a driver, where the tokens that it asks for are new.
func CSIDriver(_ context.Context, d, old *storagev1.CSIDriver) []string {
	if len(d.Spec.TokenRequests) == 0 || d.Spec.ServiceAccountTokenInSecrets != nil {
		return nil
	}
	if old != nil && equality.Semantic.DeepEqual(d.Spec.TokenRequests, old.Spec.TokenRequests) {
		return nil
	}
	return []string{"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, " +
		"set to true to prevent possible logging of tokens in volume attributes"}
}
