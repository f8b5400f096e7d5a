package cronjob

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

// start is the time at which the CronJobs of the tests are made. The times of bubbles begin there, too.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// at returns a time that is some minutes after start.
func at(minutes float64) *metav1.Time {
	return &metav1.Time{Time: start.Add(time.Duration(minutes * float64(time.Minute)))}
}

// cronJobOf returns a CronJob for each minute.
func cronJobOf(change func(*batchv1.CronJob)) *batchv1.CronJob {
	cronJob := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "c", CreationTimestamp: *at(0)},
		Spec:       batchv1.CronJobSpec{Schedule: "* * * * *", ConcurrencyPolicy: batchv1.AllowConcurrent},
	}
	if change != nil {
		change(cronJob)
	}
	return cronJob
}

// ownedJob returns a Job of the CronJob that was made for a minute after start. It has ended if condition isn't "".
func ownedJob(minute int, condition batchv1.JobConditionType) *batchv1.Job {
	name := fmt.Sprintf("c-%d", start.Unix()/60+int64(minute))
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cronJobOf(nil), kind)}},
		Status:     batchv1.JobStatus{StartTime: at(float64(minute))},
	}
	if condition != "" {
		job.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue}}
		job.Status.CompletionTime = at(float64(minute) + 0.5)
	}
	return job
}

func active(jobs ...*batchv1.Job) (refs []corev1.ObjectReference) {
	for _, job := range jobs {
		refs = append(refs, corev1.ObjectReference{Namespace: job.Namespace, Name: job.Name, UID: job.UID})
	}
	return refs
}

// fixture is a controller with fakes.
type fixture struct {
	*controller
	client *fake.Clientset
}

// newFixture returns a controller that works on a CronJob and Jobs. The fake client has the same objects.
func newFixture(ctx context.Context, t *testing.T, cronJob *batchv1.CronJob, jobs ...*batchv1.Job) *fixture {
	t.Helper()
	cronJobs, err := controllertest.Informer(cronJob)
	if err != nil {
		t.Fatal(err)
	}
	jobInformer, err := controllertest.Informer(jobs...)
	if err != nil {
		t.Fatal(err)
	}
	if err := owned.Index(jobInformer); err != nil {
		t.Fatal(err)
	}
	client := fake.NewSimpleClientset(cronJob)
	for _, job := range jobs {
		if err := client.Tracker().Add(job); err != nil {
			t.Fatal(err)
		}
	}
	return &fixture{client: client, controller: &controller{Config: Config{
		Client: client.BatchV1(), CronJobs: cronJobs, Jobs: jobInformer, Events: eventrecorder.NewRecorder(ctx, client.CoreV1(), Account),
	}}}
}

// requests returns the events that the controller has recorded, each in the form REASON: MESSAGE, and its other writes.
func (f *fixture) requests() (events, writes []string) {
	synctest.Wait()
	var others []clienttesting.Action
	for _, action := range f.client.Actions() {
		if create, ok := action.(clienttesting.CreateAction); ok && action.GetResource().Resource == "events" {
			event := create.GetObject().(*corev1.Event)
			events = append(events, event.Reason+": "+event.Message)
		} else {
			others = append(others, action)
		}
	}
	return events, controllertest.Writes(others)
}

func TestSync(t *testing.T) {
	t.Parallel()
	running, second := ownedJob(1, ""), ownedJob(2, "")
	third := "c-15778083" // the Job of the third minute
	for _, test := range []struct {
		name, reason string
		cronJob      func(*batchv1.CronJob)
		jobs         []*batchv1.Job
		minutes      float64 // the time since the creation of the CronJob
		// writes has the requests without those for events. again is the time until the next look.
		writes, events []string
		again          time.Duration
	}{
		{"not yet", "the first time of the schedule hasn't passed", nil, nil, 0.5, nil, nil, 30*time.Second + margin},
		{"due", "the Job's name has the minutes of its time since 1970", nil, nil, 3.5,
			[]string{"create jobs ns/" + third, "update cronjobs/status ns/c"}, []string{"SuccessfulCreate: Created job " + third}, 30*time.Second + margin},
		{"suspended", "a suspended CronJob makes no Job", func(c *batchv1.CronJob) { c.Spec.Suspend = new(true) }, nil, 3.5, nil, nil, 0},
		{"deleted", "a CronJob that is being deleted makes no Job", func(c *batchv1.CronJob) { c.DeletionTimestamp = at(1) }, nil, 3.5, nil, nil, 0},
		{"made before", "the status has the time", func(c *batchv1.CronJob) { c.Status.LastScheduleTime = at(3) }, nil, 3.5, nil, nil, 30*time.Second + margin},
		{"exists", "the status couldn't be written", nil, []*batchv1.Job{ownedJob(3, "")}, 3.5,
			[]string{"create jobs ns/" + third, "update cronjobs/status ns/c"},
			[]string{"UnexpectedJob: Saw a job that the controller did not create or forgot: " + third}, 30*time.Second + margin},
		{"too late", "the deadline has passed", func(c *batchv1.CronJob) {
			c.Spec.Schedule, c.Spec.StartingDeadlineSeconds, c.Status.LastScheduleTime = "@every 3m", new(int64(20)), at(0)
		}, nil, 3.5, nil, nil, 2*time.Minute + 30*time.Second + margin},
		{"many missed", "the CronJob warns after 100 times", nil, nil, 103.5,
			[]string{"create jobs ns/c-15778183", "update cronjobs/status ns/c"},
			[]string{"TooManyMissedTimes: too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew",
				"SuccessfulCreate: Created job c-15778183"}, 30*time.Second + margin},
		{"forbid", "a Job runs", func(c *batchv1.CronJob) {
			c.Spec.ConcurrencyPolicy, c.Status.Active = batchv1.ForbidConcurrent, active(running)
		}, []*batchv1.Job{running}, 3.5, nil,
			[]string{"JobAlreadyActive: Not starting job because prior execution is running and concurrency policy is Forbid"}, 30*time.Second + margin},
		{"replace", "the running Jobs are deleted first", func(c *batchv1.CronJob) {
			c.Spec.ConcurrencyPolicy, c.Status.Active = batchv1.ReplaceConcurrent, active(running, second)
		}, []*batchv1.Job{running, second}, 3.5,
			[]string{"delete jobs ns/" + running.Name, "delete jobs ns/" + second.Name, "create jobs ns/" + third, "update cronjobs/status ns/c"},
			[]string{"SuccessfulDelete: Deleted job " + running.Name, "SuccessfulDelete: Deleted job " + second.Name, "SuccessfulCreate: Created job " + third}, 30*time.Second + margin},
		{"allow", "a Job may run beside others", func(c *batchv1.CronJob) { c.Status.Active = active(running) }, []*batchv1.Job{running}, 3.5,
			[]string{"create jobs ns/" + third, "update cronjobs/status ns/c"}, []string{"SuccessfulCreate: Created job " + third}, 30*time.Second + margin},
		{"completed", "a Job that has ended leaves the list", func(c *batchv1.CronJob) {
			c.Status.Active, c.Status.LastScheduleTime = active(running), at(3)
		}, []*batchv1.Job{ownedJob(1, batchv1.JobComplete)}, 3.5,
			[]string{"update cronjobs/status ns/c"}, []string{"SawCompletedJob: Saw completed job: " + running.Name + ", condition: Complete"}, 30*time.Second + margin},
		{"missing", "a Job that is gone leaves the list", func(c *batchv1.CronJob) {
			c.Status.Active, c.Status.LastScheduleTime = active(running), at(3)
		}, nil, 3.5, []string{"update cronjobs/status ns/c"}, []string{"MissingJob: Active job went missing: " + running.Name}, 30*time.Second + margin},
		{"history", "the oldest Jobs above the limits are deleted", func(c *batchv1.CronJob) {
			c.Spec.SuccessfulJobsHistoryLimit, c.Spec.FailedJobsHistoryLimit = new(int32(1)), new(int32(0))
			c.Status.LastScheduleTime, c.Status.LastSuccessfulTime = at(3), at(3.5)
		}, []*batchv1.Job{ownedJob(3, batchv1.JobComplete), ownedJob(1, batchv1.JobComplete), ownedJob(2, batchv1.JobFailed)}, 3.7,
			[]string{"delete jobs ns/" + running.Name, "delete jobs ns/" + second.Name},
			[]string{"SuccessfulDelete: Deleted job " + running.Name, "SuccessfulDelete: Deleted job " + second.Name}, 18*time.Second + margin},
		{"no times", "31 February doesn't exist", func(c *batchv1.CronJob) { c.Spec.Schedule = "59 23 31 2 *" }, nil, 3.5, nil,
			[]string{"InvalidSchedule: invalid schedule: 59 23 31 2 * : time difference between two schedules is less than 1 second"}, 0},
		{"malformed", "the parser panics", func(c *batchv1.CronJob) { c.Spec.Schedule = "TZ=0" }, nil, 3.5, nil,
			[]string{"UnsupportedSchedule: CRON_TZ or TZ used in schedule \"TZ=0\" is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
				"UnparseableSchedule: unparseable schedule: \"TZ=0\" : invalid schedule format: runtime error: slice bounds out of range [:-1]"}, 0},
		{"unknown zone", "the server refuses the zone only at its creation", func(c *batchv1.CronJob) { c.Spec.TimeZone = new("Nowhere") }, nil, 3.5, nil,
			[]string{"UnknownTimeZone: invalid timeZone: \"Nowhere\": unknown time zone Nowhere"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				f := newFixture(ctx, t, cronJobOf(test.cronJob), test.jobs...)
				time.Sleep(time.Until(at(test.minutes).Time)) //nolint:forbidigo // time in a bubble doesn't take real time
				again, err := f.sync(ctx, cache.NewObjectName("ns", "c"))
				if err != nil || again != test.again {
					t.Errorf("%s: want a look after %s, got %s, %v", test.reason, test.again, again, err)
				}
				events, writes := f.requests()
				if diff := cmp.Diff(test.events, events); diff != "" {
					t.Errorf("%s: the events differ (-want +got):\n%s", test.reason, diff)
				}
				if diff := cmp.Diff(test.writes, writes); diff != "" {
					t.Errorf("%s: the writes differ (-want +got):\n%s", test.reason, diff)
				}
			})
		})
	}
}

// The Job of a CronJob has the template's metadata, the time of the schedule in the CronJob's time zone, and its owner.
// The status has the Job.
func TestStartedJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		cronJob := cronJobOf(func(c *batchv1.CronJob) {
			c.Spec.Schedule, c.Spec.TimeZone = "30 1 * * *", new("Europe/Berlin")
			c.Spec.JobTemplate.Labels, c.Spec.JobTemplate.Annotations = map[string]string{"l": "v"}, map[string]string{"a": "v"}
			c.Spec.JobTemplate.Spec.Parallelism = new(int32(2))
		})
		f := newFixture(ctx, t, cronJob)
		time.Sleep(time.Hour) //nolint:forbidigo // time in a bubble doesn't take real time
		if _, err := f.sync(ctx, cache.NewObjectName("ns", "c")); err != nil {
			t.Fatal(err)
		}
		job, err := f.client.BatchV1().Jobs("ns").Get(ctx, "c-15778110", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "c-15778110", Labels: map[string]string{"l": "v"},
				Annotations:     map[string]string{"a": "v", "batch.kubernetes.io/cronjob-scheduled-timestamp": "2000-01-01T01:30:00+01:00"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: "c", UID: "c", Controller: new(true), BlockOwnerDeletion: new(true)}},
			},
			Spec: batchv1.JobSpec{Parallelism: new(int32(2))},
		}
		if diff := cmp.Diff(want, job); diff != "" {
			t.Errorf("the Job differs (-want +got):\n%s", diff)
		}
		after, err := f.client.BatchV1().CronJobs("ns").Get(ctx, "c", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		status := batchv1.CronJobStatus{LastScheduleTime: at(30), Active: []corev1.ObjectReference{{APIVersion: "batch/v1", Kind: "Job", Namespace: "ns", Name: "c-15778110"}}}
		if diff := cmp.Diff(status, after.Status); diff != "" {
			t.Errorf("the status differs (-want +got):\n%s", diff)
		}
	})
}
