// Package ttlafterfinished is the controller ttl-after-finished-controller: it deletes a Job when the time of
// spec.ttlSecondsAfterFinished has passed since the Job's end.
//
// [New] starts the controller.
package ttlafterfinished

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/job"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// Account is the name of the controller's service account.
const Account = "ttl-after-finished-controller"

// leastAge is the age that a Job reaches before the controller deletes it. On a cluster, the pods of a Job take seconds. A
// client such as Helm, which creates a Job of a chart with ttlSecondsAfterFinished 0 and then begins to watch it, relies
// on this: it waits forever for a Job that is deleted before.
const leastAge = 3 * time.Second

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client batchv1client.JobsGetter
	// Jobs is the informer of Jobs.
	Jobs cache.SharedIndexInformer
}

// New starts the controller.
func New(config Config) error {
	c := &controller{config}
	queue := work.NewQueue(config.Runner, work.Options[cache.ObjectName]{Name: Account, Workers: 5, Do: c.check})
	return work.Enqueue(work.Events{Informer: config.Jobs, Changed: func(o metav1.Object) {
		if job, ok := o.(*batchv1.Job); ok && expires(job) {
			queue.Add(cache.MetaObjectToName(job))
		}
	}})
}

type controller struct{ Config }

// check deletes a Job whose time is over. The Job in the informer may be outdated, so the server's Job decides.
func (c *controller) check(ctx context.Context, key cache.ObjectName) (again time.Duration, err error) {
	obj, exists, err := c.Jobs.GetStore().GetByKey(key.String())
	if err != nil || !exists {
		return 0, err
	}
	if left, expires, err := timeLeft(obj.(*batchv1.Job)); err != nil || !expires || left > 0 {
		return left, err
	}
	fresh, err := c.Client.Jobs(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return 0, work.IgnoreGone(err)
	}
	if left, expires, err := timeLeft(fresh); err != nil || !expires || left > 0 {
		return left, err
	}
	return 0, c.Client.Jobs(key.Namespace).Delete(ctx, key.Name, metav1.DeleteOptions{
		PropagationPolicy: new(metav1.DeletePropagationForeground),
		Preconditions:     &metav1.Preconditions{UID: &fresh.UID},
	})
}

// expires reports whether a Job has ended, and is to be deleted after some time.
func expires(j *batchv1.Job) bool {
	return j.DeletionTimestamp == nil && j.Spec.TTLSecondsAfterFinished != nil && job.Finished(j) != nil
}

// timeLeft returns the time until a Job must be deleted. It returns false for a Job that stays.
func timeLeft(j *batchv1.Job) (left time.Duration, has bool, err error) {
	if !expires(j) {
		return 0, false, nil
	}
	end := job.Finished(j).LastTransitionTime
	if end.IsZero() {
		return 0, false, fmt.Errorf("unable to find the time when the Job %s/%s finished", j.Namespace, j.Name)
	}
	left = time.Until(end.Add(time.Duration(*j.Spec.TTLSecondsAfterFinished) * time.Second))
	return max(left, time.Until(j.CreationTimestamp.Add(leastAge))), true, nil
}
