package job

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

// maxUncounted is the number of pods that a round counts at most. It keeps the status below 20 kB, and a large Job from
// delaying others.
const maxUncounted = 500

// count counts the ended pods in the status of the Job, each once: it adds their UIDs to the status, removes their
// finalizers, and replaces the UIDs by numbers. When all pods are counted and none is left, a Job that ends gets its last
// condition.
func (r *round) count(ctx context.Context) error {
	status := &r.job.Status
	status.Active, status.Ready, status.Terminating = int32(r.running), new(int32(r.ready)), new(int32(r.terminating))
	tracked := sets.New[types.UID]()
	for _, pod := range r.pods {
		if isTracked(pod) {
			tracked.Insert(pod.UID)
		}
	}
	countReleased(status, tracked)
	ended, full := r.addUncounted()
	if isIndexed(r.job) {
		status.Succeeded, status.CompletedIndexes = int32(r.completed.len()), r.completed.String()
		if status.FailedIndexes = nil; r.job.Spec.BackoffLimitPerIndex != nil {
			status.FailedIndexes = new(r.spent.String())
		}
	}
	r.announceEnd()
	if err := r.write(ctx); err != nil {
		return fmt.Errorf("adding uncounted pods to status: %w", err)
	}
	failed := r.release(ctx, ended, tracked)
	countReleased(&r.job.Status, tracked)
	finished := failed == nil && !full && r.finish()
	if err := r.write(ctx); err != nil {
		return fmt.Errorf("removing uncounted pods from status: %w", err)
	}
	if finished {
		r.recordEnd()
	}
	return failed
}

// countReleased replaces the UIDs of pods that have no finalizer any more by numbers.
func countReleased(status *batchv1.JobStatus, tracked sets.Set[types.UID]) {
	count := func(n *int32, uids *[]types.UID) {
		var left []types.UID
		for _, uid := range *uids {
			if tracked.Has(uid) {
				left = append(left, uid)
			}
		}
		*n += int32(len(*uids) - len(left))
		*uids = left
	}
	count(&status.Succeeded, &status.UncountedTerminatedPods.Succeeded)
	count(&status.Failed, &status.UncountedTerminatedPods.Failed)
}

// addUncounted adds the UIDs of ended pods to the status. A completed index needs no UID, because an index counts once.
// addUncounted returns the pods that can lose their finalizers, and whether there may be more than maxUncounted.
func (r *round) addUncounted() (ended []*corev1.Pod, full bool) {
	uncounted := r.job.Status.UncountedTerminatedPods
	failing := r.end != nil && r.end.Type != batchv1.JobSuccessCriteriaMet
	for _, pod := range r.pods {
		if !isTracked(pod) || !r.isCountable(pod) {
			continue
		}
		if len(ended) == maxUncounted {
			return ended, true
		}
		ended = append(ended, pod)
		switch {
		case !hasValidIndex(pod, r.job) || r.uncounted.Has(pod.UID):
		case pod.Status.Phase == corev1.PodSucceeded:
			if !isIndexed(r.job) {
				uncounted.Succeeded = append(uncounted.Succeeded, pod.UID)
			}
		case failing || hasFailed(pod, r.job):
			if action, _ := failureAction(r.job.Spec.PodFailurePolicy, pod); action != batchv1.PodFailurePolicyActionIgnore {
				uncounted.Failed = append(uncounted.Failed, pod.UID)
			}
		}
	}
	return ended, false
}

// isCountable reports whether a pod can lose its finalizer.
func (r *round) isCountable(pod *corev1.Pod) bool {
	if r.job.DeletionTimestamp != nil || r.end != nil || pod.Status.Phase == corev1.PodSucceeded {
		return true
	}
	awaiting := r.awaiting[indexOf(pod)]
	return hasFailed(pod, r.job) && (awaiting == nil || awaiting.UID != pod.UID)
}

// announceEnd sets the condition that says that the Job is about to end, and prepares the last condition.
func (r *round) announceEnd() {
	if r.end == nil {
		return
	}
	final := map[batchv1.JobConditionType]batchv1.JobConditionType{
		batchv1.JobFailureTarget: batchv1.JobFailed, batchv1.JobSuccessCriteriaMet: batchv1.JobComplete,
	}[r.end.Type]
	if final == "" {
		return // judged has prepared the last condition
	}
	if trueCondition(r.job, r.end.Type) == nil {
		r.job.Status.Conditions = append(r.job.Status.Conditions, *r.end)
	}
	r.end = newCondition(final, r.end.Reason, r.end.Message)
}

// release removes the finalizers of pods, and their UIDs from tracked.
func (r *round) release(ctx context.Context, pods []*corev1.Pod, tracked sets.Set[types.UID]) error {
	released := make([]bool, len(pods))
	errs := owned.Each(len(pods), func(i int) error {
		err := r.Pods.Patch(pods[i].Namespace)(ctx, pods[i].Name, untracked)
		if released[i] = err == nil || apierrors.IsNotFound(err); released[i] {
			return nil
		}
		return err
	})
	for i, pod := range pods {
		if released[i] {
			tracked.Delete(pod.UID)
		}
	}
	if len(errs) > 0 {
		return errs[0]
	}
	return nil
}

// finish sets the last condition of a Job that ends, and reports whether it has. It waits until all pods are counted, and
// until those that are being deleted are gone.
func (r *round) finish() bool {
	uncounted := r.job.Status.UncountedTerminatedPods
	if r.end == nil || len(uncounted.Succeeded)+len(uncounted.Failed) > 0 || r.terminating > 0 {
		return false
	}
	setCondition(r.job, *r.end)
	if r.end.Type == batchv1.JobComplete {
		r.job.Status.CompletionTime = &r.end.LastTransitionTime
	}
	return true
}

// recordEnd records the events of a Job that has ended.
func (r *round) recordEnd() {
	if r.end.Type != batchv1.JobComplete {
		r.Pods.Events.Warn(r.job, r.end.Reason, "%s", r.end.Message)
		return
	}
	if r.job.Status.Succeeded > ptr.Deref(r.job.Spec.Completions, r.job.Status.Succeeded) {
		r.Pods.Events.Warn(r.job, "TooManySucceededPods", "Too many succeeded pods running after completion count reached")
	}
	r.Pods.Events.Tell(r.job, "Completed", "Job completed")
}

// write writes the status, if it has changed. Then the backoff counts the pods of the status.
func (r *round) write(ctx context.Context) error {
	if equality.Semantic.DeepEqual(r.job.Status, r.written) {
		return nil
	}
	written, err := r.Client.Jobs(r.job.Namespace).UpdateStatus(ctx, r.job, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	r.job, r.written = written.DeepCopy(), written.Status
	if r.job.Status.UncountedTerminatedPods == nil {
		r.job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	r.remember(r.key, r.backoff)
	return nil
}
