package job

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

// round is the work on a Job at one time.
type round struct {
	*controller
	key     string
	now     time.Time
	job     *batchv1.Job      // has the new status
	written batchv1.JobStatus // the status that the server has

	pods, active                []*corev1.Pod
	uncounted                   sets.Set[types.UID] // the pods of status.uncountedTerminatedPods
	succeeded, failed           int                 // the pods that have ended, also those that the status doesn't have yet
	running, ready, terminating int
	// completed and spent are the new indexes of status.completedIndexes and status.failedIndexes.
	completed, spent indexes
	// awaiting has the last failed pods of indexes for which no new pod was created. They keep their finalizers, because
	// the new pods get the numbers of failures from them.
	awaiting map[int]*corev1.Pod
	backoff  backoff
	// end is the condition with which the Job ends, or nil.
	end *batchv1.JobCondition
	// again is the time until the Job must be looked at again, or 0.
	again time.Duration
}

// sync creates and deletes the pods of a Job, and writes its status.
func (c *controller) sync(ctx context.Context, key string) (again time.Duration, err error) {
	obj, exists, err := c.JobInformer.GetStore().GetByKey(key)
	if err != nil || !exists {
		c.forget(key)
		return 0, err
	}
	stored := obj.(*batchv1.Job)
	switch {
	case isManagedElsewhere(stored):
		return 0, nil
	case Finished(stored) != nil:
		c.forget(key)
		return 0, nil
	}
	r := &round{controller: c, key: key, now: time.Now(), job: stored.DeepCopy(), written: stored.Status, backoff: c.backoffOf(key)}
	if r.pods, err = c.claim(ctx, r.job); err != nil {
		return 0, err
	}
	r.survey()
	r.judge()
	failed := r.act(ctx)
	if err := r.count(ctx); err != nil {
		return 0, fmt.Errorf("tracking status: %w", err)
	}
	return r.again, failed
}

// survey counts the pods.
func (r *round) survey() {
	status := &r.job.Status
	if status.UncountedTerminatedPods == nil {
		status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	if status.StartTime == nil && !isSuspended(r.job) {
		status.StartTime = &metav1.Time{Time: r.now}
	}
	if isIndexed(r.job) {
		slices.SortStableFunc(r.pods, func(a, b *corev1.Pod) int { return cmp.Compare(indexOf(a), indexOf(b)) })
	}
	succeeded, failed := status.UncountedTerminatedPods.Succeeded, status.UncountedTerminatedPods.Failed
	r.uncounted = sets.New(slices.Concat(succeeded, failed)...)
	r.succeeded = int(status.Succeeded) + len(succeeded)
	r.failed = int(status.Failed) + len(failed)
	var newlySucceeded, newlyFailed []*corev1.Pod
	for _, pod := range r.pods {
		switch {
		case owned.IsActive(pod):
			r.active = append(r.active, pod)
			if owned.IsReady(pod) {
				r.ready++
			}
		case owned.IsTerminating(pod):
			r.terminating++
		}
		if !isTracked(pod) || r.uncounted.Has(pod.UID) || !hasValidIndex(pod, r.job) {
			continue
		}
		switch {
		case pod.Status.Phase == corev1.PodSucceeded:
			r.succeeded++
			newlySucceeded = append(newlySucceeded, pod)
		case hasFailed(pod, r.job):
			newlyFailed = append(newlyFailed, pod)
			if action, _ := failureAction(r.job.Spec.PodFailurePolicy, pod); action != batchv1.PodFailurePolicyActionIgnore {
				r.failed++
			}
		}
	}
	r.running = len(r.active)
	r.backoff = r.backoff.after(newlySucceeded, newlyFailed)
	if isIndexed(r.job) {
		r.surveyIndexes()
	}
}

// surveyIndexes determines the indexes that have succeeded or failed.
func (r *round) surveyIndexes() {
	spec, status := &r.job.Spec, &r.job.Status
	completions := int(*spec.Completions)
	var completed, spent []int
	for _, pod := range r.pods {
		switch {
		case !isTracked(pod) || !hasValidIndex(pod, r.job):
		case pod.Status.Phase == corev1.PodSucceeded:
			completed = append(completed, indexOf(pod))
		case spec.BackoffLimitPerIndex != nil && hasFailed(pod, r.job):
			action, _ := failureAction(spec.PodFailurePolicy, pod)
			all, ignored := failuresOf(pod)
			if action == batchv1.PodFailurePolicyActionFailIndex ||
				action != batchv1.PodFailurePolicyActionIgnore && all-ignored >= int(*spec.BackoffLimitPerIndex) {
				spent = append(spent, indexOf(pod))
			}
		}
	}
	r.completed = parseIndexes(status.CompletedIndexes, completions).union(indexesOf(completed...))
	r.succeeded = r.completed.len()
	if spec.BackoffLimitPerIndex == nil {
		return
	}
	if status.FailedIndexes != nil {
		r.spent = parseIndexes(*status.FailedIndexes, completions)
	}
	r.spent = r.spent.union(indexesOf(spent...))
	r.surveyAwaiting()
}

// surveyAwaiting determines the failed pods that wait for new pods of their indexes.
func (r *round) surveyAwaiting() {
	r.awaiting = map[int]*corev1.Pod{}
	active := indexesOf(indexesOfPods(r.active)...)
	for _, pod := range r.pods {
		index := indexOf(pod)
		if !isTracked(pod) || !hasValidIndex(pod, r.job) || pod.Status.Phase == corev1.PodSucceeded || !hasFailed(pod, r.job) ||
			r.completed.has(index) || r.spent.has(index) || active.has(index) {
			continue
		}
		if last := r.awaiting[index]; last != nil {
			before, _ := failuresOf(last)
			if failures, _ := failuresOf(pod); failures < before || endOf(pod).Before(endOf(last)) {
				continue
			}
		}
		r.awaiting[index] = pod
	}
}

func indexesOfPods(pods []*corev1.Pod) (indexes []int) {
	for _, pod := range pods {
		if index := indexOf(pod); index != noIndex {
			indexes = append(indexes, index)
		}
	}
	return indexes
}

// judge decides whether the Job ends, by the first criterion that is met. Another criterion is that all completions are
// reached, which act judges.
func (r *round) judge() {
	for _, criterion := range []func() *batchv1.JobCondition{
		r.judged, r.failedByPolicy, r.overBackoffLimit, r.overDeadline, r.overFailedIndexes, r.succeededByPolicy,
	} {
		if r.end = criterion(); r.end != nil {
			return
		}
	}
}

// judged returns the condition for the end that an earlier round has decided.
func (r *round) judged() *batchv1.JobCondition {
	if met := trueCondition(r.job, batchv1.JobSuccessCriteriaMet); met != nil {
		return met
	}
	if failed := trueCondition(r.job, batchv1.JobFailureTarget); failed != nil {
		return newCondition(batchv1.JobFailed, failed.Reason, failed.Message)
	}
	return nil
}

func (r *round) failedByPolicy() *batchv1.JobCondition {
	for _, pod := range r.pods {
		if !hasFailed(pod, r.job) {
			continue
		}
		if action, message := failureAction(r.job.Spec.PodFailurePolicy, pod); action == batchv1.PodFailurePolicyActionFailJob {
			return newCondition(batchv1.JobFailureTarget, batchv1.JobReasonPodFailurePolicy, message)
		}
	}
	return nil
}

func (r *round) overBackoffLimit() *batchv1.JobCondition {
	limit := int(*r.job.Spec.BackoffLimit)
	if r.failed <= limit && (r.job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure || r.restarts() < max(limit, 1)) {
		return nil
	}
	return newCondition(batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
}

// restarts returns the number of restarts of the containers that may still run.
func (r *round) restarts() (n int) {
	for _, pod := range r.pods {
		if pod.Status.Phase != corev1.PodRunning && pod.Status.Phase != corev1.PodPending {
			continue
		}
		for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			n += int(status.RestartCount)
		}
	}
	return n
}

func (r *round) overDeadline() *batchv1.JobCondition {
	deadline := r.job.Spec.ActiveDeadlineSeconds
	if deadline == nil || isSuspended(r.job) {
		return nil
	}
	if left := r.job.Status.StartTime.Add(time.Duration(*deadline) * time.Second).Sub(r.now); left > 0 {
		r.lookAgain(left)
		return nil
	}
	return newCondition(batchv1.JobFailureTarget, batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
}

func (r *round) overFailedIndexes() *batchv1.JobCondition {
	spec := &r.job.Spec
	switch failed := r.spent.len(); {
	case failed == 0:
		return nil
	case spec.MaxFailedIndexes != nil && failed > int(*spec.MaxFailedIndexes):
		return newCondition(batchv1.JobFailureTarget, batchv1.JobReasonMaxFailedIndexesExceeded, "Job has exceeded the specified maximal number of failed indexes")
	case failed+r.completed.len() >= int(*spec.Completions):
		return newCondition(batchv1.JobFailureTarget, batchv1.JobReasonFailedIndexes, "Job has failed indexes")
	}
	return nil
}

func (r *round) succeededByPolicy() *batchv1.JobCondition {
	if !isIndexed(r.job) {
		return nil
	}
	rule := successRule(r.job.Spec.SuccessPolicy, r.completed, int(*r.job.Spec.Completions))
	if rule < 0 {
		return nil
	}
	return newCondition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonSuccessPolicy, fmt.Sprintf("Matched rules at index %d", rule))
}

// lookAgain makes the controller look at the Job after some time, at the latest.
func (r *round) lookAgain(after time.Duration) {
	if r.again == 0 || after < r.again {
		r.again = after
	}
}
