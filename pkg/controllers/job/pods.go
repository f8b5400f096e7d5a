package job

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

const (
	// noIndex is the index of a pod that has no valid completion index.
	noIndex = -1
	// indexVariable is the environment variable with the completion index.
	indexVariable = "JOB_COMPLETION_INDEX"
	// maxPrefix is the greatest length of the part of a name to which the server adds random characters.
	maxPrefix = 58
)

func isIndexed(job *batchv1.Job) bool {
	return ptr.Deref(job.Spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}

func isSuspended(job *batchv1.Job) bool { return ptr.Deref(job.Spec.Suspend, false) }

// replacesFailed reports whether the pods of a Job are replaced only when they have failed. By default, pods that are
// being deleted are replaced, too.
func replacesFailed(job *batchv1.Job) bool {
	return ptr.Deref(job.Spec.PodReplacementPolicy, batchv1.TerminatingOrFailed) == batchv1.Failed
}

// isTracked reports whether the status of its Job doesn't count a pod yet.
func isTracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}

// untracked is the patch that removes the finalizer of a pod.
var untracked = []byte(fmt.Sprintf(`{"metadata":{"$deleteFromPrimitiveList/finalizers":[%q]}}`, batchv1.JobTrackingFinalizer))

// hasFailed reports whether a pod has failed. A pod that is being deleted counts as failed, because it may never reach
// the phase, unless the Job replaces failed pods alone.
func hasFailed(pod *corev1.Pod, job *batchv1.Job) bool {
	return pod.Status.Phase == corev1.PodFailed ||
		!replacesFailed(job) && pod.DeletionTimestamp != nil && pod.Status.Phase != corev1.PodSucceeded
}

// indexOf returns the completion index of a pod, or noIndex.
func indexOf(pod *corev1.Pod) int {
	index, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil || index < 0 {
		return noIndex
	}
	return index
}

// hasValidIndex reports whether a pod counts for the completions of its Job.
func hasValidIndex(pod *corev1.Pod, job *batchv1.Job) bool {
	index := indexOf(pod)
	return !isIndexed(job) || index != noIndex && index < int(*job.Spec.Completions)
}

// countOf returns the number in an annotation of a pod, or 0 if it isn't valid.
func countOf(pod *corev1.Pod, annotation string) int {
	n, err := strconv.Atoi(pod.Annotations[annotation])
	if err != nil || n < 0 || n > math.MaxInt32 {
		return 0
	}
	return n
}

// failuresOf returns the number of failures of a pod's index before the pod, and how many of them were ignored.
func failuresOf(pod *corev1.Pod) (all, ignored int) {
	ignored = countOf(pod, batchv1.JobIndexIgnoredFailureCountAnnotation)
	return countOf(pod, batchv1.JobIndexFailureCountAnnotation) + ignored, ignored
}

// newPod returns a pod of a Job. The argument replaced is the failed pod of the same index, or nil.
func newPod(job *batchv1.Job, index int, replaced *corev1.Pod) *corev1.Pod {
	pod := owned.NewPod(&job.Spec.Template, job, metav1.NewControllerRef(job, kind))
	if !isTracked(pod) {
		pod.Finalizers = append(pod.Finalizers, batchv1.JobTrackingFinalizer)
	}
	if index == noIndex {
		return pod
	}
	number := strconv.Itoa(index)
	pod.GenerateName = job.Name + "-" + number + "-"
	if over := len(pod.GenerateName) - maxPrefix; over > 0 {
		pod.GenerateName = job.Name[:len(job.Name)-over] + "-" + number + "-"
	}
	pod.Spec.Hostname = job.Name + "-" + number
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, number)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, number)
	addIndexVariable(pod.Spec.InitContainers)
	addIndexVariable(pod.Spec.Containers)
	if job.Spec.BackoffLimitPerIndex != nil {
		all, ignored := 0, 0
		if replaced != nil {
			all, ignored = failuresOf(replaced)
			all++
			if action, _ := failureAction(job.Spec.PodFailurePolicy, replaced); action == batchv1.PodFailurePolicyActionIgnore {
				ignored++
			}
		}
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobIndexFailureCountAnnotation, strconv.Itoa(all-ignored))
		if ignored > 0 {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobIndexIgnoredFailureCountAnnotation, strconv.Itoa(ignored))
		}
	}
	return pod
}

func addIndexVariable(containers []corev1.Container) {
	for i := range containers {
		if slices.ContainsFunc(containers[i].Env, func(v corev1.EnvVar) bool { return v.Name == indexVariable }) {
			continue
		}
		containers[i].Env = append(containers[i].Env, corev1.EnvVar{Name: indexVariable, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: fmt.Sprintf("metadata.labels['%s']", batchv1.JobCompletionIndexAnnotation)},
		}})
	}
}
