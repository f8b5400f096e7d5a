package job

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

// maxPods is the number of pods that a round creates or deletes at most.
const maxPods = 500

// act creates or deletes pods. A Job that ends loses its active pods.
func (r *round) act(ctx context.Context) error {
	if r.end != nil {
		err := r.delete(ctx, r.active, false)
		if r.running > 0 {
			r.end = nil // the pods that are left run, so the Job doesn't end yet
		}
		return err
	}
	managed := r.job.DeletionTimestamp == nil
	var err error
	if managed {
		err = r.manage(ctx)
	}
	if r.isComplete() {
		r.end = newCondition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods")
	} else if managed {
		r.noteSuspension()
	}
	return err
}

// isComplete reports whether enough pods have succeeded, and none runs. A Job without a number of completions needs one.
func (r *round) isComplete() bool {
	needed := 1
	if r.job.Spec.Completions != nil {
		needed = int(*r.job.Spec.Completions)
	}
	return r.succeeded >= needed && r.running == 0
}

// noteSuspension sets the condition Suspended. A Job that is suspended, and one that goes on, lose the time of their start.
func (r *round) noteSuspension() {
	suspended := newCondition(batchv1.JobSuspended, "JobSuspended", "Job suspended")
	reason, start := "Suspended", (*metav1.Time)(nil)
	if !isSuspended(r.job) {
		suspended = newCondition(batchv1.JobSuspended, "JobResumed", "Job resumed")
		suspended.Status = corev1.ConditionFalse
		reason, start = "Resumed", &metav1.Time{Time: r.now}
	}
	if setCondition(r.job, *suspended) {
		r.Pods.Events.Tell(r.job, reason, "%s", suspended.Message)
		r.job.Status.StartTime = start
	}
}

// manage creates or deletes pods, so that as many run as the Job needs.
func (r *round) manage(ctx context.Context) error {
	if isSuspended(r.job) {
		return r.delete(ctx, r.surplus(r.running), true)
	}
	wanted := r.wanted()
	if surplus := r.surplus(max(0, r.running-wanted)); len(surplus) > 0 {
		return r.delete(ctx, surplus[:min(len(surplus), maxPods)], true)
	}
	if replacesFailed(r.job) {
		wanted -= r.terminating
	}
	if wanted <= r.running {
		return nil
	}
	indexes := r.nextIndexes(wanted - r.running)
	created, err := owned.SlowStart(len(indexes), func(i int) error {
		index := indexes[i]
		err := r.Pods.Create(ctx, r.job, newPod(r.job, index, r.awaiting[index]))
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return nil // all further creates fail, too
		}
		return err
	})
	r.running += created
	return err
}

// wanted returns the number of pods that should run.
func (r *round) wanted() int {
	parallelism := int(*r.job.Spec.Parallelism)
	switch {
	case r.job.Spec.Completions != nil:
		return max(0, min(parallelism, int(*r.job.Spec.Completions)-r.succeeded))
	case r.succeeded > 0:
		return r.running
	default:
		return parallelism
	}
}

// nextIndexes returns the indexes of at most n pods that may be created now. The indexes of a Job that isn't indexed are
// noIndex. After failures, pods may be created only later.
func (r *round) nextIndexes(n int) []int {
	n = min(n, maxPods)
	if r.job.Spec.BackoffLimitPerIndex == nil {
		if left := r.backoff.left(r.now); left > 0 {
			r.lookAgain(left)
			return nil
		}
	}
	if !isIndexed(r.job) {
		return slices.Repeat([]int{noIndex}, n)
	}
	busy := indexesOfPods(r.active)
	if replacesFailed(r.job) {
		for _, pod := range r.pods {
			if owned.IsTerminating(pod) {
				busy = append(busy, indexesOfPods([]*corev1.Pod{pod})...)
			}
		}
	}
	pending := r.completed.union(indexesOf(busy...)).union(r.spent).missing(n, int(*r.job.Spec.Completions))
	var now []int
	var later time.Duration
	for _, index := range pending {
		var left time.Duration
		if last := r.awaiting[index]; last != nil {
			all, _ := failuresOf(last)
			left = backoff{all + 1, endOf(last)}.left(r.now)
		}
		switch {
		case left == 0:
			now = append(now, index)
		case later == 0 || left < later:
			later = left
		}
	}
	if len(now) == 0 && later > 0 {
		r.lookAgain(later)
	}
	return now
}

// surplus returns the active pods that are to be deleted, at least n of them. Those of an indexed Job are pods without a
// valid index, and all but one pod of an index.
func (r *round) surplus(n int) (surplus []*corev1.Pod) {
	left := slices.SortedFunc(slices.Values(r.active), owned.Order{}.Compare)
	if isIndexed(r.job) {
		var once []*corev1.Pod
		seen := sets.New[int]()
		for _, pod := range slices.Backward(left) {
			if index := indexOf(pod); index == noIndex || !hasValidIndex(pod, r.job) || seen.Has(index) {
				surplus = append(surplus, pod)
			} else {
				seen.Insert(index)
				once = append(once, pod)
			}
		}
		slices.Reverse(once)
		left = once
	}
	return append(surplus, left[:max(0, n-len(surplus))]...)
}

// delete deletes pods. If uncounted is true, the pods don't count as failed, so they lose their finalizers first.
func (r *round) delete(ctx context.Context, pods []*corev1.Pod, uncounted bool) error {
	var ready atomic.Int32
	errs := owned.Each(len(pods), func(i int) error {
		pod := pods[i]
		if owned.IsReady(pod) {
			ready.Add(1)
		}
		if uncounted && isTracked(pod) {
			err := r.Pods.Patch(pod.Namespace)(ctx, pod.Name, untracked)
			if apierrors.IsNotFound(err) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("removing completion finalizer: %w", err)
			}
		}
		return r.Pods.Delete(ctx, r.job, pod)
	})
	deleted := len(pods) - len(errs)
	r.running -= deleted
	r.terminating += deleted
	r.ready -= int(ready.Load())
	if len(errs) > 0 {
		return errs[0]
	}
	return nil
}
