package cronjob

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// Account is the name of the controller's service account, and the source of its events.
const Account = "cronjob-controller"

// kind is the kind of the owners of Jobs.
var kind = batchv1.SchemeGroupVersion.WithKind("CronJob")

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client batchv1client.BatchV1Interface
	Events *eventrecorder.Recorder
	// CronJobs and Jobs are the informers of CronJobs and Jobs.
	CronJobs, Jobs cache.SharedIndexInformer
}

// New starts the controller.
func New(config Config) error {
	c := &controller{Config: config}
	c.queue = work.NewQueue(config.Runner, work.Options[cache.ObjectName]{Name: Account, Workers: 5, Do: c.sync})
	if err := owned.Index(config.Jobs); err != nil {
		return err
	}
	return work.Enqueue(
		work.Events{Informer: config.CronJobs, Changed: c.changed, Updated: c.updated},
		work.Events{Informer: config.Jobs, Changed: c.jobChanged, Deleted: c.jobChanged},
	)
}

type controller struct {
	Config
	queue *work.Queue[cache.ObjectName]
}

func (c *controller) changed(o metav1.Object) { c.queue.Add(cache.MetaObjectToName(o)) }

// updated queues a CronJob after a change. A new schedule makes no Job for the times before the change, so the CronJob
// waits for the next time of the new schedule.
func (c *controller) updated(before, after metav1.Object) {
	old, cronJob := before.(*batchv1.CronJob), after.(*batchv1.CronJob)
	if old.Spec.Schedule == cronJob.Spec.Schedule && ptr.Equal(old.Spec.TimeZone, cronJob.Spec.TimeZone) {
		c.changed(cronJob)
		return
	}
	schedule, err := parse(cronJob)
	if err != nil {
		c.Events.Warn(cronJob, "UnParseableCronJobSchedule", "unparseable schedule for cronjob: %s", cronJob.Spec.Schedule)
		return
	}
	c.queue.AddAfter(cache.MetaObjectToName(cronJob), untilNext(cronJob, time.Now(), schedule))
}

// jobChanged queues the CronJob that controls a Job.
func (c *controller) jobChanged(o metav1.Object) {
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil && owner.Kind == kind.Kind {
		c.queue.Add(cache.NewObjectName(o.GetNamespace(), owner.Name))
	}
}

// sync makes and deletes the Jobs of a CronJob, and writes its status. It returns the time until the next time of the
// schedule.
func (c *controller) sync(ctx context.Context, key cache.ObjectName) (again time.Duration, err error) {
	obj, exists, err := c.CronJobs.GetStore().GetByKey(key.String())
	if err != nil || !exists {
		return 0, err
	}
	stored := obj.(*batchv1.CronJob)
	r := &run{controller: c, stored: stored, cronJob: stored.DeepCopy(), jobs: owned.Of[*batchv1.Job](c.Jobs, stored), now: time.Now()}
	r.deleteOldest(ctx)
	again, err = r.start(ctx)
	if !equality.Semantic.DeepEqual(r.cronJob.Status, r.stored.Status) {
		if _, err := c.Client.CronJobs(key.Namespace).UpdateStatus(ctx, r.cronJob, metav1.UpdateOptions{}); err != nil {
			return 0, err
		}
	}
	return again, err
}

// run is the work on a CronJob at one time.
type run struct {
	*controller
	stored  *batchv1.CronJob // must not be changed
	cronJob *batchv1.CronJob // has the new status
	jobs    []*batchv1.Job   // the Jobs that the CronJob controls
	now     time.Time
}
