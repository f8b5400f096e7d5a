package defaults

import (
	"math"

	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	batchv1beta1 "k8s.io/api/batch/v1beta1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// selectorOf makes a workload that doesn't say select the labels of its pod
// template, as versions before apps/v1beta2 do.
func selectorOf(template map[string]string, selector **metav1.LabelSelector, object *map[string]string) {
	if template != nil {
		Pointer(selector, metav1.LabelSelector{MatchLabels: template})
	}
	LabelsOf(template, object)
}

// AppsV1beta1Deployment sets the defaults of an apps/v1beta1 Deployment.
func AppsV1beta1Deployment(d *appsv1beta1.Deployment) {
	selectorOf(d.Spec.Template.Labels, &d.Spec.Selector, &d.Labels)
	Pointer(&d.Spec.Replicas, 1)
	Pointer(&d.Spec.RevisionHistoryLimit, 2)
	Pointer(&d.Spec.ProgressDeadlineSeconds, progressDeadlineSeconds)
	strategy := &d.Spec.Strategy
	Zero(&strategy.Type, appsv1beta1.RollingUpdateDeploymentStrategyType)
	if strategy.Type == appsv1beta1.RollingUpdateDeploymentStrategyType {
		Pointer(&strategy.RollingUpdate, appsv1beta1.RollingUpdateDeployment{})
		Pointer(&strategy.RollingUpdate.MaxUnavailable, quarter())
		Pointer(&strategy.RollingUpdate.MaxSurge, quarter())
	}
	PodTemplateSpec(&d.Spec.Template)
}

// AppsV1beta1StatefulSet sets the defaults of an apps/v1beta1 StatefulSet, which
// doesn't replace pods on its own.
func AppsV1beta1StatefulSet(s *appsv1beta1.StatefulSet) {
	selectorOf(s.Spec.Template.Labels, &s.Spec.Selector, &s.Labels)
	Pointer(&s.Spec.Replicas, 1)
	Pointer(&s.Spec.RevisionHistoryLimit, revisionHistoryLimit)
	Zero(&s.Spec.PodManagementPolicy, appsv1beta1.OrderedReadyPodManagement)
	strategy := &s.Spec.UpdateStrategy
	Zero(&strategy.Type, appsv1beta1.OnDeleteStatefulSetStrategyType)
	if strategy.Type == appsv1beta1.RollingUpdateStatefulSetStrategyType && strategy.RollingUpdate != nil {
		Pointer(&strategy.RollingUpdate.Partition, 0)
	}
	Pointer(&s.Spec.PersistentVolumeClaimRetentionPolicy, appsv1beta1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	retention := s.Spec.PersistentVolumeClaimRetentionPolicy
	Zero(&retention.WhenDeleted, appsv1beta1.RetainPersistentVolumeClaimRetentionPolicyType)
	Zero(&retention.WhenScaled, appsv1beta1.RetainPersistentVolumeClaimRetentionPolicyType)
	PodTemplateSpec(&s.Spec.Template)
	claimTemplates(s.Spec.VolumeClaimTemplates)
}

// AppsV1beta2Deployment sets the defaults of an apps/v1beta2 Deployment.
func AppsV1beta2Deployment(d *appsv1beta2.Deployment) {
	Pointer(&d.Spec.Replicas, 1)
	Pointer(&d.Spec.RevisionHistoryLimit, revisionHistoryLimit)
	Pointer(&d.Spec.ProgressDeadlineSeconds, progressDeadlineSeconds)
	strategy := &d.Spec.Strategy
	Zero(&strategy.Type, appsv1beta2.RollingUpdateDeploymentStrategyType)
	if strategy.Type == appsv1beta2.RollingUpdateDeploymentStrategyType {
		Pointer(&strategy.RollingUpdate, appsv1beta2.RollingUpdateDeployment{})
		Pointer(&strategy.RollingUpdate.MaxUnavailable, quarter())
		Pointer(&strategy.RollingUpdate.MaxSurge, quarter())
	}
	PodTemplateSpec(&d.Spec.Template)
}

// AppsV1beta2DaemonSet sets the defaults of an apps/v1beta2 DaemonSet.
func AppsV1beta2DaemonSet(d *appsv1beta2.DaemonSet) {
	Pointer(&d.Spec.RevisionHistoryLimit, revisionHistoryLimit)
	strategy := &d.Spec.UpdateStrategy
	Zero(&strategy.Type, appsv1beta2.RollingUpdateDaemonSetStrategyType)
	if strategy.Type == appsv1beta2.RollingUpdateDaemonSetStrategyType {
		Pointer(&strategy.RollingUpdate, appsv1beta2.RollingUpdateDaemonSet{})
		Pointer(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		Pointer(&strategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	PodTemplateSpec(&d.Spec.Template)
}

// AppsV1beta2StatefulSet sets the defaults of an apps/v1beta2 StatefulSet.
func AppsV1beta2StatefulSet(s *appsv1beta2.StatefulSet) {
	Pointer(&s.Spec.Replicas, 1)
	Pointer(&s.Spec.RevisionHistoryLimit, revisionHistoryLimit)
	Zero(&s.Spec.PodManagementPolicy, appsv1beta2.OrderedReadyPodManagement)
	strategy := &s.Spec.UpdateStrategy
	if strategy.Type == "" {
		strategy.Type = appsv1beta2.RollingUpdateStatefulSetStrategyType
		Pointer(&strategy.RollingUpdate, appsv1beta2.RollingUpdateStatefulSetStrategy{})
	}
	if strategy.Type == appsv1beta2.RollingUpdateStatefulSetStrategyType && strategy.RollingUpdate != nil {
		Pointer(&strategy.RollingUpdate.Partition, 0)
	}
	Pointer(&s.Spec.PersistentVolumeClaimRetentionPolicy, appsv1beta2.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	retention := s.Spec.PersistentVolumeClaimRetentionPolicy
	Zero(&retention.WhenDeleted, appsv1beta2.RetainPersistentVolumeClaimRetentionPolicyType)
	Zero(&retention.WhenScaled, appsv1beta2.RetainPersistentVolumeClaimRetentionPolicyType)
	PodTemplateSpec(&s.Spec.Template)
	claimTemplates(s.Spec.VolumeClaimTemplates)
}

// AppsV1beta2ReplicaSet sets the defaults of an apps/v1beta2 ReplicaSet.
func AppsV1beta2ReplicaSet(r *appsv1beta2.ReplicaSet) {
	Pointer(&r.Spec.Replicas, 1)
	PodTemplateSpec(&r.Spec.Template)
}

// ExtensionsV1beta1Deployment sets the defaults of an extensions/v1beta1
// Deployment: it keeps every revision, waits forever for progress, and changes one
// pod at a time.
func ExtensionsV1beta1Deployment(d *extensionsv1beta1.Deployment) {
	selectorOf(d.Spec.Template.Labels, &d.Spec.Selector, &d.Labels)
	Pointer(&d.Spec.Replicas, 1)
	Pointer(&d.Spec.RevisionHistoryLimit, math.MaxInt32)
	Pointer(&d.Spec.ProgressDeadlineSeconds, math.MaxInt32)
	strategy := &d.Spec.Strategy
	Zero(&strategy.Type, extensionsv1beta1.RollingUpdateDeploymentStrategyType)
	if strategy.Type == extensionsv1beta1.RollingUpdateDeploymentStrategyType {
		Pointer(&strategy.RollingUpdate, extensionsv1beta1.RollingUpdateDeployment{})
	}
	if strategy.RollingUpdate != nil {
		Pointer(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		Pointer(&strategy.RollingUpdate.MaxSurge, intstr.FromInt32(1))
	}
	PodTemplateSpec(&d.Spec.Template)
}

// ExtensionsV1beta1DaemonSet sets the defaults of an extensions/v1beta1 DaemonSet,
// which doesn't replace pods on its own.
func ExtensionsV1beta1DaemonSet(d *extensionsv1beta1.DaemonSet) {
	selectorOf(d.Spec.Template.Labels, &d.Spec.Selector, &d.Labels)
	Pointer(&d.Spec.RevisionHistoryLimit, revisionHistoryLimit)
	strategy := &d.Spec.UpdateStrategy
	Zero(&strategy.Type, extensionsv1beta1.OnDeleteDaemonSetStrategyType)
	if strategy.Type == extensionsv1beta1.RollingUpdateDaemonSetStrategyType {
		Pointer(&strategy.RollingUpdate, extensionsv1beta1.RollingUpdateDaemonSet{})
		Pointer(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		Pointer(&strategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	PodTemplateSpec(&d.Spec.Template)
}

// ExtensionsV1beta1ReplicaSet sets the defaults of an extensions/v1beta1 ReplicaSet.
func ExtensionsV1beta1ReplicaSet(r *extensionsv1beta1.ReplicaSet) {
	selectorOf(r.Spec.Template.Labels, &r.Spec.Selector, &r.Labels)
	Pointer(&r.Spec.Replicas, 1)
	PodTemplateSpec(&r.Spec.Template)
}

// BatchV1beta1CronJob sets the defaults of a batch/v1beta1 CronJob.
func BatchV1beta1CronJob(c *batchv1beta1.CronJob) {
	Zero(&c.Spec.ConcurrencyPolicy, batchv1beta1.AllowConcurrent)
	Pointer(&c.Spec.Suspend, false)
	Pointer(&c.Spec.SuccessfulJobsHistoryLimit, 3)
	Pointer(&c.Spec.FailedJobsHistoryLimit, 1)
	jobSpec(&c.Spec.JobTemplate.Spec)
}
