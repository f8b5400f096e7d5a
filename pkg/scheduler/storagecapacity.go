package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// hasCapacity reports whether a driver has enough free storage to make a volume for a claim that a node can have. A driver
// whose CSIDriver doesn't say that it publishes its capacity has enough.
func (s storage) hasCapacity(class *storagev1.StorageClass, claim *corev1.PersistentVolumeClaim, n *corev1.Node) bool {
	size, limited := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	driver, err := s.drivers.Get(class.Provisioner)
	if !limited || err != nil || !ptr.Deref(driver.Spec.StorageCapacity, false) {
		return true
	}
	capacities, err := s.capacities.List(labels.Everything())
	if err != nil {
		return false
	}
	for _, capacity := range capacities {
		largest := largestVolume(capacity)
		if capacity.StorageClassName != class.Name || largest == nil || largest.Cmp(size) < 0 || capacity.NodeTopology == nil {
			continue
		}
		if selector, err := metav1.LabelSelectorAsSelector(capacity.NodeTopology); err == nil && selector.Matches(labels.Set(n.Labels)) {
			return true
		}
	}
	return false
}

// largestVolume returns the size of the largest volume that can be made, or nil if none can.
func largestVolume(capacity *storagev1.CSIStorageCapacity) *apiresource.Quantity {
	if capacity.MaximumVolumeSize != nil {
		return capacity.MaximumVolumeSize
	}
	return capacity.Capacity
}

// capacityGrew reports whether larger volumes can be made than before. The argument before is nil if the capacity is new.
func capacityGrew(before, after *storagev1.CSIStorageCapacity) bool {
	if before == nil {
		return true
	}
	was, is := largestVolume(before), largestVolume(after)
	return is != nil && (was == nil || is.Cmp(*was) > 0)
}
