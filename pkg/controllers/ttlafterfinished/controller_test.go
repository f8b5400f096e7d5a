package ttlafterfinished

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
)

// jobOf returns a Job that was created an hour before its end, which was some time ago, with a condition.
func jobOf(condition batchv1.JobConditionType, ago time.Duration, ttl *int32) *batchv1.Job {
	created := metav1.NewTime(time.Now().Add(-ago - time.Hour))
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "j", UID: "j", CreationTimestamp: created},
		Spec:       batchv1.JobSpec{TTLSecondsAfterFinished: ttl},
		Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{
			Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-ago)),
		}}},
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	deleted := []string{"delete jobs ns/j"}
	for _, test := range []struct {
		name, reason string
		condition    batchv1.JobConditionType
		ago          time.Duration
		ttl          *int32
		// fresh is the time to live of the Job in the server. The informer has the Job with ttl.
		fresh *int32
		want  []string
		again time.Duration
	}{
		{"over", "the time has passed", batchv1.JobComplete, time.Minute, new(int32(60)), new(int32(60)), deleted, 0},
		{"failed", "a failed Job has ended too", batchv1.JobFailed, time.Minute, new(int32(60)), new(int32(60)), deleted, 0},
		{"at once", "0 deletes the Job at its end", batchv1.JobComplete, 0, new(int32(0)), new(int32(0)), deleted, 0},
		{"not over", "the Job is checked again when the time is over", batchv1.JobComplete, 20 * time.Second, new(int32(60)), new(int32(60)), nil, 40 * time.Second},
		{"no time", "without the field, the Job stays", batchv1.JobComplete, time.Hour, nil, nil, nil, 0},
		{"running", "the Job hasn't ended", batchv1.JobSuspended, time.Hour, new(int32(0)), new(int32(0)), nil, 0},
		{"extended", "the informer is behind the server", batchv1.JobComplete, time.Minute, new(int32(60)), new(int32(90)), nil, 30 * time.Second},
		{"removed", "the informer is behind the server", batchv1.JobComplete, time.Minute, new(int32(60)), nil, nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				jobs, err := controllertest.Informer(jobOf(test.condition, test.ago, test.ttl))
				if err != nil {
					t.Fatal(err)
				}
				client := fake.NewSimpleClientset(jobOf(test.condition, test.ago, test.fresh))
				c := &controller{Config{Client: client.BatchV1(), Jobs: jobs}}
				again, err := c.check(t.Context(), cache.NewObjectName("ns", "j"))
				if err != nil || again != test.again {
					t.Errorf("%s: want a check after %s, got %s, %v", test.reason, test.again, again, err)
				}
				if diff := cmp.Diff(test.want, controllertest.Writes(client.Actions())); diff != "" {
					t.Errorf("%s: the writes differ (-want +got):\n%s", test.reason, diff)
				}
			})
		})
	}
}

// A client that begins to watch a Job after its creation sees that it has ended, whatever its time to live is.
func TestYoungJobStays(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		age          time.Duration
		ttl          int32
		want         time.Duration
	}{
		{"new", "its pods have ended within milliseconds", 0, 0, leastAge},
		{"old enough", "the time to live is over", leastAge, 0, 0},
		{"short time to live", "the age counts from the creation", 0, 1, leastAge},
		{"long time to live", "the time counts from the end", 0, 60, time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ended := jobOf(batchv1.JobComplete, 0, &test.ttl)
				ended.CreationTimestamp = metav1.NewTime(time.Now().Add(-test.age))
				if left, _, err := timeLeft(ended); left != test.want || err != nil {
					t.Errorf("%s: %s are left, %v; want %s", test.reason, left, err, test.want)
				}
			})
		})
	}
}
