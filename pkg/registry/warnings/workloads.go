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
	specPath     = field.NewPath("spec")
	templatePath = specPath.Child("template")
)

// changed says whether there is anything new to warn of in a template: metadata and
// status change often, and don't count into the generation.
func changed(obj, old metav1.Object) bool { return obj.GetGeneration() != old.GetGeneration() }

// Deployment returns the warnings of a deployment.
func Deployment(_ context.Context, d, old *appsv1.Deployment) []string {
	var l list
	if old == nil {
		l.podName(d.Name)
	}
	if old == nil || changed(d, old) {
		l.podTemplate(templatePath, &d.Spec.Template)
	}
	return l
}

// ReplicaSet returns the warnings of a replica set.
func ReplicaSet(_ context.Context, rs, old *appsv1.ReplicaSet) []string {
	var l list
	if old == nil {
		l.podName(rs.Name)
	}
	if old == nil || changed(rs, old) {
		l.podTemplate(templatePath, &rs.Spec.Template)
	}
	return l
}

// ReplicationController returns the warnings of a replication controller.
func ReplicationController(_ context.Context, rc, old *corev1.ReplicationController) []string {
	var l list
	if old == nil {
		l.podName(rc.Name)
	}
	if rc.Spec.Template != nil && (old == nil || changed(rc, old)) {
		l.podTemplate(templatePath, rc.Spec.Template)
	}
	return l
}

// DaemonSet returns the warnings of a daemon set.
func DaemonSet(_ context.Context, d, old *appsv1.DaemonSet) []string {
	var l list
	if old == nil || changed(d, old) {
		l.podTemplate(templatePath, &d.Spec.Template)
	}
	return l
}

// StatefulSet returns the warnings of a stateful set.
func StatefulSet(_ context.Context, s, old *appsv1.StatefulSet) []string {
	var l list
	if old == nil || changed(s, old) {
		l.podTemplate(templatePath, &s.Spec.Template)
	}
	for i := range s.Spec.VolumeClaimTemplates {
		path := specPath.Child("volumeClaimTemplates").Index(i)
		if old != nil {
			// The two paths, and the capital letter, are kube-apiserver's.
			path = path.Child("Spec")
		}
		l.claim(path, &s.Spec.VolumeClaimTemplates[i].Spec)
	}
	if n := s.Spec.RevisionHistoryLimit; n != nil && *n < 0 {
		l.at(specPath.Child("revisionHistoryLimit"),
			"a negative value retains all historical revisions; a value >= 0 is recommended")
	}
	return l
}

// PodTemplate returns the warnings of a pod template.
func PodTemplate(_ context.Context, t, old *corev1.PodTemplate) []string {
	var l list
	if old == nil || changed(t, old) {
		l.podTemplate(field.NewPath("template"), &t.Template)
	}
	return l
}

// JobDeletion is said when the deletion of a job leaves it to the default of batch/v1
// what becomes of its pods.
const JobDeletion = "child pods are preserved by default when jobs are deleted; " +
	"set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"

// Job returns the warnings of a job.
func Job(_ context.Context, j, old *batchv1.Job) []string {
	var l list
	if old == nil {
		l.podName(j.Name)
	}
	if old == nil || changed(j, old) {
		l.job(specPath, &j.Spec)
	}
	return l
}

// CronJob returns the warnings of a cron job.
func CronJob(_ context.Context, c, old *batchv1.CronJob) []string {
	var l list
	if old == nil {
		l.podName(c.Name)
	}
	if old == nil || changed(c, old) {
		l.job(specPath.Child("jobTemplate", "spec"), &c.Spec.JobTemplate.Spec)
	}
	// A new cron job with such a schedule is invalid. The path is kube-apiserver's.
	if old != nil && strings.Contains(c.Spec.Schedule, "TZ") {
		l.add("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, " +
			"see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details")
	}
	return l
}

func (l *list) job(path *field.Path, spec *batchv1.JobSpec) {
	if ptr.Deref(spec.CompletionMode, "") == batchv1.IndexedCompletion &&
		ptr.Deref(spec.Completions, 0) > 100_000 && ptr.Deref(spec.Parallelism, 0) > 10_000 {
		l.at(path, "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "+
			"Kubernetes might not be able to track completedIndexes when a big number of indexes fail")
	}
	l.podTemplate(path.Child("template"), &spec.Template)
}
