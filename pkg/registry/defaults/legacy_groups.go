package defaults

import (
	corev1 "k8s.io/api/core/v1"
	nodev1alpha1 "k8s.io/api/node/v1alpha1"
	nodev1beta1 "k8s.io/api/node/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1alpha1 "k8s.io/api/storage/v1alpha1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
)

// NodeV1alpha1RuntimeClass sets the defaults of a node.k8s.io/v1alpha1 RuntimeClass.
func NodeV1alpha1RuntimeClass(c *nodev1alpha1.RuntimeClass) {
	if c.Spec.Overhead != nil {
		ResourceList(c.Spec.Overhead.PodFixed)
	}
}

// NodeV1beta1RuntimeClass sets the defaults of a node.k8s.io/v1beta1 RuntimeClass.
func NodeV1beta1RuntimeClass(c *nodev1beta1.RuntimeClass) {
	if c.Overhead != nil {
		ResourceList(c.Overhead.PodFixed)
	}
}

// RBACV1beta1ClusterRoleBinding sets the defaults of an
// rbac.authorization.k8s.io/v1beta1 ClusterRoleBinding.
func RBACV1beta1ClusterRoleBinding(b *rbacv1beta1.ClusterRoleBinding) {
	Zero(&b.RoleRef.APIGroup, rbacv1.GroupName)
	subjectsV1beta1(b.Subjects)
}

// RBACV1beta1RoleBinding sets the defaults of an rbac.authorization.k8s.io/v1beta1
// RoleBinding.
func RBACV1beta1RoleBinding(b *rbacv1beta1.RoleBinding) {
	Zero(&b.RoleRef.APIGroup, rbacv1.GroupName)
	subjectsV1beta1(b.Subjects)
}

func subjectsV1beta1(list []rbacv1beta1.Subject) {
	for i := range list {
		subjectGroup(list[i].Kind, &list[i].APIGroup)
	}
}

// RBACV1alpha1ClusterRoleBinding sets the defaults of an
// rbac.authorization.k8s.io/v1alpha1 ClusterRoleBinding.
func RBACV1alpha1ClusterRoleBinding(b *rbacv1alpha1.ClusterRoleBinding) {
	Zero(&b.RoleRef.APIGroup, rbacv1.GroupName)
	subjectsV1alpha1(b.Subjects)
}

// RBACV1alpha1RoleBinding sets the defaults of an
// rbac.authorization.k8s.io/v1alpha1 RoleBinding.
func RBACV1alpha1RoleBinding(b *rbacv1alpha1.RoleBinding) {
	Zero(&b.RoleRef.APIGroup, rbacv1.GroupName)
	subjectsV1alpha1(b.Subjects)
}

// subjectsV1alpha1 completes subjects that still have an apiVersion.
func subjectsV1alpha1(list []rbacv1alpha1.Subject) {
	for i := range list {
		switch s := &list[i]; s.Kind {
		case rbacv1.ServiceAccountKind:
			Zero(&s.APIVersion, corev1.SchemeGroupVersion.String())
		case rbacv1.UserKind, rbacv1.GroupKind:
			Zero(&s.APIVersion, rbacv1alpha1.SchemeGroupVersion.String())
		}
	}
}

// SchedulingV1beta1PriorityClass sets the defaults of a scheduling.k8s.io/v1beta1
// PriorityClass.
func SchedulingV1beta1PriorityClass(c *schedulingv1beta1.PriorityClass) {
	Pointer(&c.PreemptionPolicy, corev1.PreemptLowerPriority)
}

// SchedulingV1beta1PodGroup sets the defaults of a scheduling.k8s.io/v1beta1 PodGroup:
// its pods are disrupted one by one.
func SchedulingV1beta1PodGroup(g *schedulingv1beta1.PodGroup) {
	Pointer(&g.Spec.DisruptionMode, schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}})
}

// StorageV1beta1StorageClass sets the defaults of a storage.k8s.io/v1beta1
// StorageClass.
func StorageV1beta1StorageClass(c *storagev1beta1.StorageClass) {
	Pointer(&c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	Pointer(&c.VolumeBindingMode, storagev1beta1.VolumeBindingImmediate)
}

// StorageV1beta1CSIDriver sets the defaults of a storage.k8s.io/v1beta1 CSIDriver.
func StorageV1beta1CSIDriver(d *storagev1beta1.CSIDriver) {
	Pointer(&d.Spec.AttachRequired, true)
	Pointer(&d.Spec.PodInfoOnMount, false)
	Pointer(&d.Spec.StorageCapacity, false)
	Pointer(&d.Spec.RequiresRepublish, false)
	Pointer(&d.Spec.SELinuxMount, false)
	Pointer(&d.Spec.FSGroupPolicy, storagev1beta1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	if len(d.Spec.VolumeLifecycleModes) == 0 {
		d.Spec.VolumeLifecycleModes = []storagev1beta1.VolumeLifecycleMode{storagev1beta1.VolumeLifecyclePersistent}
	}
}

// StorageV1beta1VolumeAttachment sets the defaults of a storage.k8s.io/v1beta1
// VolumeAttachment.
func StorageV1beta1VolumeAttachment(a *storagev1beta1.VolumeAttachment) {
	if spec := a.Spec.Source.InlineVolumeSpec; spec != nil {
		VolumeSpec(spec)
	}
}

// StorageV1alpha1VolumeAttachment sets the defaults of a storage.k8s.io/v1alpha1
// VolumeAttachment.
func StorageV1alpha1VolumeAttachment(a *storagev1alpha1.VolumeAttachment) {
	if spec := a.Spec.Source.InlineVolumeSpec; spec != nil {
		VolumeSpec(spec)
	}
}
