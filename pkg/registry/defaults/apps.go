package defaults

import (
	"math"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// revisionHistoryLimit is how many old revisions of a workload are kept.
	revisionHistoryLimit int32 = 10
	// progressDeadlineSeconds is how long a rollout may stand still.
	progressDeadlineSeconds int32 = 600
)

// quarter is how far a Deployment may go above and below its replicas in a rollout.
func quarter() intstr.IntOrString { return intstr.FromString("25%") }

// Deployment sets the defaults of a Deployment.
func Deployment(d *appsv1.Deployment) {
	Pointer(&d.Spec.Replicas, 1)
	Pointer(&d.Spec.RevisionHistoryLimit, revisionHistoryLimit)
	Pointer(&d.Spec.ProgressDeadlineSeconds, progressDeadlineSeconds)
	strategy := &d.Spec.Strategy
	Zero(&strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		Pointer(&strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		Pointer(&strategy.RollingUpdate.MaxUnavailable, quarter())
		Pointer(&strategy.RollingUpdate.MaxSurge, quarter())
	}
	PodTemplateSpec(&d.Spec.Template)
}

// DaemonSet sets the defaults of a DaemonSet. The generation of its template, which
// the server counts, is an annotation.
func DaemonSet(d *appsv1.DaemonSet) {
	if _, ok := d.Annotations[appsv1.DeprecatedTemplateGeneration]; !ok {
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, appsv1.DeprecatedTemplateGeneration, "0")
	}
	Pointer(&d.Spec.RevisionHistoryLimit, revisionHistoryLimit)
	strategy := &d.Spec.UpdateStrategy
	Zero(&strategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if strategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		Pointer(&strategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		Pointer(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		Pointer(&strategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	PodTemplateSpec(&d.Spec.Template)
}

// StatefulSet sets the defaults of a StatefulSet.
func StatefulSet(s *appsv1.StatefulSet) {
	Pointer(&s.Spec.Replicas, 1)
	Pointer(&s.Spec.RevisionHistoryLimit, revisionHistoryLimit)
	Zero(&s.Spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	strategy := &s.Spec.UpdateStrategy
	if strategy.Type == "" {
		strategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		Pointer(&strategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	}
	if strategy.Type == appsv1.RollingUpdateStatefulSetStrategyType && strategy.RollingUpdate != nil {
		Pointer(&strategy.RollingUpdate.Partition, 0)
	}
	Pointer(&s.Spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	retention := s.Spec.PersistentVolumeClaimRetentionPolicy
	Zero(&retention.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	Zero(&retention.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	PodTemplateSpec(&s.Spec.Template)
	claimTemplates(s.Spec.VolumeClaimTemplates)
}

// claimTemplates sets the defaults of a StatefulSet's claims, which are whole
// objects, kind and version included.
func claimTemplates(claims []corev1.PersistentVolumeClaim) {
	for i := range claims {
		claims[i].SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
		PersistentVolumeClaim(&claims[i])
	}
}

// ReplicaSet sets the defaults of a ReplicaSet.
func ReplicaSet(r *appsv1.ReplicaSet) {
	Pointer(&r.Spec.Replicas, 1)
	PodTemplateSpec(&r.Spec.Template)
}

// Job sets the defaults of a Job.
func Job(j *batchv1.Job) {
	spec := &j.Spec
	if spec.Parallelism == nil {
		Pointer(&spec.Completions, 1)
	}
	Pointer(&spec.Parallelism, 1)
	if spec.BackoffLimitPerIndex == nil {
		Pointer(&spec.BackoffLimit, 6)
	} else {
		Pointer(&spec.BackoffLimit, math.MaxInt32)
	}
	Pointer(&spec.CompletionMode, batchv1.NonIndexedCompletion)
	Pointer(&spec.Suspend, false)
	Pointer(&spec.ManualSelector, false)
	if spec.PodFailurePolicy == nil {
		Pointer(&spec.PodReplacementPolicy, batchv1.TerminatingOrFailed)
	} else {
		Pointer(&spec.PodReplacementPolicy, batchv1.Failed)
	}
	LabelsOf(spec.Template.Labels, &j.Labels)
	jobSpec(spec)
}

// jobSpec sets the defaults that a job's spec gets in a CronJob's template too.
func jobSpec(s *batchv1.JobSpec) {
	if s.PodFailurePolicy != nil {
		for i := range s.PodFailurePolicy.Rules {
			conditions := s.PodFailurePolicy.Rules[i].OnPodConditions
			for j := range conditions {
				Zero(&conditions[j].Status, corev1.ConditionTrue)
			}
		}
	}
	PodTemplateSpec(&s.Template)
}

// CronJob sets the defaults of a CronJob.
func CronJob(c *batchv1.CronJob) {
	Zero(&c.Spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
	Pointer(&c.Spec.Suspend, false)
	Pointer(&c.Spec.SuccessfulJobsHistoryLimit, 3)
	Pointer(&c.Spec.FailedJobsHistoryLimit, 1)
	jobSpec(&c.Spec.JobTemplate.Spec)
}
