package warnings

import (
	"context"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

var (
	SpecPath     = field.NewPath("spec")
	TemplatePath = SpecPath.Child("template")
)

// Changed says whether there is anything new to warn of in a template: metadata and
// status change often, and don't count into the generation.
func Changed(obj, old metav1.Object) bool { return obj.GetGeneration() != old.GetGeneration() }

// Deployment returns the warnings of a deployment.
func Deployment(_ context.Context, d, old *appsv1.Deployment) []string {
	var l List
	if old == nil {
		l.PodName(d.Name)
	}
	if old == nil || Changed(d, old) {
		l.PodTemplate(TemplatePath, &d.Spec.Template)
	}
	return l
}

// ReplicaSet returns the warnings of a replica set.
func ReplicaSet(_ context.Context, rs, old *appsv1.ReplicaSet) []string {
	var l List
	if old == nil {
		l.PodName(rs.Name)
	}
	if old == nil || Changed(rs, old) {
		l.PodTemplate(TemplatePath, &rs.Spec.Template)
	}
	return l
}

// ReplicationController returns the warnings of a replication controller.
func ReplicationController(_ context.Context, rc, old *corev1.ReplicationController) []string {
	var l List
	if old == nil {
		l.PodName(rc.Name)
	}
	if rc.Spec.Template != nil && (old == nil || Changed(rc, old)) {
		l.PodTemplate(TemplatePath, rc.Spec.Template)
	}
	return l
}

// DaemonSet returns the warnings of a daemon set.
func DaemonSet(_ context.Context, d, old *appsv1.DaemonSet) []string {
	var l List
	if old == nil || Changed(d, old) {
		l.PodTemplate(TemplatePath, &d.Spec.Template)
	}
	return l
}

// StatefulSet returns the warnings of a stateful set.
func StatefulSet(_ context.Context, s, old *appsv1.StatefulSet) []string {
	var l List
	if old == nil || Changed(s, old) {
		l.PodTemplate(TemplatePath, &s.Spec.Template)
	}
	for i := range s.Spec.VolumeClaimTemplates {
		path := SpecPath.Child("volumeClaimTemplates").Index(i)
		if old != nil {
			// The two paths, and the capital letter, are kube-apiserver's.
			path = path.Child("Spec")
		}
		l.Claim(path, &s.Spec.VolumeClaimTemplates[i].Spec)
	}
	if n := s.Spec.RevisionHistoryLimit; n != nil && *n < 0 {
		l.At(SpecPath.Child("revisionHistoryLimit"),
			"a negative value retains all historical revisions; a value >= 0 is recommended")
	}
	return l
}

// PodTemplate returns the warnings of a pod template.
func PodTemplate(_ context.Context, t, old *corev1.PodTemplate) []string {
	var l List
	if old == nil || Changed(t, old) {
		l.PodTemplate(field.NewPath("template"), &t.Template)
	}
	return l
}

// JobDeletion is said when the deletion of a job leaves it to the default of batch/v1
// what becomes of its pods.
const JobDeletion = "child pods are preserved by default when jobs are deleted; " +
	"set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"

// Job returns the warnings of a job.
func Job(_ context.Context, j, old *batchv1.Job) []string {
	var l List
	if old == nil {
		l.PodName(j.Name)
	}
	if old == nil || Changed(j, old) {
		l.Job(SpecPath, &j.Spec)
	}
	return l
}

// CronJob returns the warnings of a cron job.
func CronJob(_ context.Context, c, old *batchv1.CronJob) []string {
	var l List
	if old == nil {
		l.PodName(c.Name)
	}
	if old == nil || Changed(c, old) {
		l.Job(SpecPath.Child("jobTemplate", "spec"), &c.Spec.JobTemplate.Spec)
	}
	// A new cron job with such a schedule is invalid. The path is kube-apiserver's.
	if old != nil && strings.Contains(c.Spec.Schedule, "TZ") {
		l.Add("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, " +
			"see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details")
	}
	return l
}

// Job warns of the spec of a job, or of that of a template of jobs.
func (l *List) Job(path *field.Path, spec *batchv1.JobSpec) {
	if ptr.Deref(spec.CompletionMode, "") == batchv1.IndexedCompletion &&
		ptr.Deref(spec.Completions, 0) > 100_000 && ptr.Deref(spec.Parallelism, 0) > 10_000 {
		l.At(path, "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "+
			"Kubernetes might not be able to track completedIndexes when a big number of indexes fail")
	}
	l.PodTemplate(path.Child("template"), &spec.Template)
}
