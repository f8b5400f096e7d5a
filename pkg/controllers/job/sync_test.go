package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

// jobOf returns a Job for two pods.
func jobOf(change func(*batchv1.Job)) *batchv1.Job {
	labels := map[string]string{"job": "j"}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "j", UID: "j"},
		Spec: batchv1.JobSpec{
			Parallelism: new(int32(2)), Completions: new(int32(2)), BackoffLimit: new(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c"}},
			}},
		},
		Status: batchv1.JobStatus{StartTime: new(after(-60))},
	}
	if change != nil {
		change(job)
	}
	return job
}

func indexedOf(completions int32, change func(*batchv1.Job)) *batchv1.Job {
	return jobOf(func(job *batchv1.Job) {
		job.Spec.CompletionMode, job.Spec.Completions, job.Spec.Parallelism = new(batchv1.IndexedCompletion), &completions, &completions
		job.Spec.BackoffLimit = new(int32(6))
		if change != nil {
			change(job)
		}
	})
}

// podOf returns a pod of the Job. The text has its name, which is also its UID, and its phase. For an indexed Job, the
// name's first character is the index. After the phase, "uncounted" takes away the finalizer, "deleted" begins the
// deletion, "ready" sets the condition, and "failures=N" is the number of failures of the index.
func podOf(text string) *corev1.Pod {
	fields := strings.Fields(text)
	pod := owned.NewPod(&corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"job": "j"}}}, jobOf(nil), metav1.NewControllerRef(jobOf(nil), kind))
	pod.GenerateName, pod.Name, pod.UID, pod.CreationTimestamp = "", fields[0], types.UID(fields[0]), after(-5)
	pod.Status.Phase = corev1.PodPhase(fields[1])
	pod.Finalizers = []string{batchv1.JobTrackingFinalizer}
	if _, err := strconv.Atoi(fields[0][:1]); err == nil {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, fields[0][:1])
	}
	for _, option := range fields[2:] {
		name, value, _ := strings.Cut(option, "=")
		switch name {
		case "uncounted":
			pod.Finalizers = nil
		case "deleted":
			pod.DeletionTimestamp = new(after(-5))
		case "ready":
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: after(-5)}}
		case "failures":
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobIndexFailureCountAnnotation, value)
		}
	}
	return pod
}

// fixture is a controller with fakes.
type fixture struct {
	*controller
	client *fake.Clientset
}

func newFixture(ctx context.Context, t *testing.T, job *batchv1.Job, pods ...*corev1.Pod) *fixture {
	t.Helper()
	jobInformer, err := controllertest.Informer(job)
	if err != nil {
		t.Fatal(err)
	}
	podInformer, err := controllertest.Informer(pods...)
	if err != nil {
		t.Fatal(err)
	}
	if err := owned.Index(podInformer); err != nil {
		t.Fatal(err)
	}
	client := fake.NewSimpleClientset(job)
	for _, pod := range pods {
		if err := client.Tracker().Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	var created atomic.Int32
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		pod := action.(clienttesting.CreateAction).GetObject().(*corev1.Pod)
		pod.Name = pod.GenerateName + strconv.Itoa(int(created.Add(1)))
		return false, nil, nil
	})
	return &fixture{client: client, controller: &controller{backoffs: map[string]backoff{}, Config: Config{
		Client: client.BatchV1(), JobInformer: jobInformer, PodInformer: podInformer,
		Pods: owned.Pods{Client: client.CoreV1(), Events: eventrecorder.NewRecorder(ctx, client.CoreV1(), Account)},
	}}}
}

// requests returns the events that the controller has recorded, and its other writes.
func (f *fixture) requests() (events, writes []string) {
	synctest.Wait()
	var others []clienttesting.Action
	for _, action := range f.client.Actions() {
		create, ok := action.(clienttesting.CreateAction)
		if ok && action.GetResource().Resource == "events" {
			event := create.GetObject().(*corev1.Event)
			events = append(events, event.Reason+": "+event.Message)
			continue
		}
		others = append(others, action)
	}
	writes = controllertest.Writes(others)
	slices.Sort(events)
	slices.Sort(writes)
	return events, writes
}

// summary describes the fields of a status that a round determines.
func summary(status batchv1.JobStatus) string {
	parts := []string{fmt.Sprintf("active=%d ready=%d terminating=%d succeeded=%d failed=%d", status.Active, *status.Ready, *status.Terminating, status.Succeeded, status.Failed)}
	if u := status.UncountedTerminatedPods; u != nil && len(u.Succeeded)+len(u.Failed) > 0 {
		parts = append(parts, fmt.Sprintf("uncounted=%v%v", u.Succeeded, u.Failed))
	}
	if status.CompletedIndexes != "" {
		parts = append(parts, "completed="+status.CompletedIndexes)
	}
	if status.FailedIndexes != nil {
		parts = append(parts, "spent="+*status.FailedIndexes)
	}
	for _, condition := range status.Conditions {
		parts = append(parts, fmt.Sprintf("%s=%s(%s: %s)", condition.Type, condition.Status, condition.Reason, condition.Message))
	}
	return strings.Join(parts, " ")
}

func TestSync(t *testing.T) {
	t.Parallel()
	const (
		status   = "update jobs/status ns/j"
		reached  = "(CompletionsReached: Reached expected number of succeeded pods)"
		backedUp = "(BackoffLimitExceeded: Job has reached the specified backoff limit)"
	)
	perIndex := func(job *batchv1.Job) { job.Spec.BackoffLimitPerIndex = new(int32(1)) }
	ignoring := &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}}
	for _, test := range []struct {
		name, reason string
		job          *batchv1.Job
		pods         []string
		writes       []string
		status       string
		events       []string
		again        time.Duration
	}{
		{"start", "pods are created", jobOf(nil), nil, []string{"create pods ns", "create pods ns", status},
			"active=2 ready=0 terminating=0 succeeded=0 failed=0", []string{"SuccessfulCreate: Created pod: j-1", "SuccessfulCreate: Created pod: j-2"}, 0},
		{"running", "the status counts ready pods", jobOf(nil), []string{"a Running ready", "b Pending"}, []string{status},
			"active=2 ready=1 terminating=0 succeeded=0 failed=0", nil, 0},
		{"one succeeded", "the pod is counted, and no further one is needed", jobOf(nil), []string{"a Succeeded", "b Running"}, []string{"patch pods ns/a", status, status},
			"active=1 ready=0 terminating=0 succeeded=1 failed=0", nil, 0},
		{"all succeeded", "the Job is complete", jobOf(nil), []string{"a Succeeded", "b Succeeded"}, []string{"patch pods ns/a", "patch pods ns/b", status, status},
			"active=0 ready=0 terminating=0 succeeded=2 failed=0 SuccessCriteriaMet=True" + reached + " Complete=True" + reached, []string{"Completed: Job completed"}, 0},
		{"any succeeded", "without a number of completions, no further pod is created", jobOf(func(job *batchv1.Job) { job.Spec.Completions = nil }),
			[]string{"a Succeeded", "b Running"}, []string{"patch pods ns/a", status, status}, "active=1 ready=0 terminating=0 succeeded=1 failed=0", nil, 0},
		{"failed", "the pod is counted, and replaced later", jobOf(nil), []string{"a Failed", "b Running"}, []string{"patch pods ns/a", status, status},
			"active=1 ready=0 terminating=0 succeeded=0 failed=1", nil, 5 * time.Second},
		{"too many failed", "the other pods are deleted and count as failed", jobOf(func(job *batchv1.Job) { job.Status.Failed = 1 }), []string{"a Failed", "b Running"},
			[]string{"delete pods ns/b", "patch pods ns/a", "patch pods ns/b", status, status},
			"active=0 ready=0 terminating=1 succeeded=0 failed=3 FailureTarget=True" + backedUp, []string{"SuccessfulDelete: Deleted pod: b"}, 0},
		{"failed for good", "all pods are gone", jobOf(func(job *batchv1.Job) {
			job.Status.Failed, job.Status.Conditions = 2, []batchv1.JobCondition{*newCondition(batchv1.JobFailureTarget, "Reason", "message")}
		}), nil, []string{status, status}, "active=0 ready=0 terminating=0 succeeded=0 failed=2 FailureTarget=True(Reason: message) Failed=True(Reason: message)", []string{"Reason: message"}, 0},
		{"crash before the counting", "the status has the UIDs, and the finalizers are left", jobOf(func(job *batchv1.Job) {
			job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"a"}}
		}), []string{"a Succeeded", "b Running"}, []string{"patch pods ns/a", status, status}, "active=1 ready=0 terminating=0 succeeded=1 failed=0", nil, 0},
		{"crash after the counting", "the status has the UIDs of pods that are gone", jobOf(func(job *batchv1.Job) {
			job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"gone"}, Failed: []types.UID{"c"}}
		}), []string{"b Running", "c Failed uncounted"}, []string{status}, "active=1 ready=0 terminating=0 succeeded=1 failed=1", nil, 0},
		{"counted", "a pod without the finalizer counts no more", jobOf(func(job *batchv1.Job) { job.Status.Succeeded = 1 }), []string{"a Succeeded uncounted", "b Running"},
			[]string{status}, "active=1 ready=0 terminating=0 succeeded=1 failed=0", nil, 0},
		{"deleted pod", "it counts as failed, and is replaced later", jobOf(nil), []string{"a Running deleted", "b Running"}, []string{"patch pods ns/a", status, status},
			"active=1 ready=0 terminating=1 succeeded=0 failed=1", nil, 5 * time.Second},
		{"deleted pod, replacement policy", "it is replaced when it has failed", jobOf(func(job *batchv1.Job) { job.Spec.PodReplacementPolicy = new(batchv1.Failed) }),
			[]string{"a Running deleted", "b Running"}, []string{status}, "active=1 ready=0 terminating=1 succeeded=0 failed=0", nil, 0},
		{"too many", "the pod that has done least is deleted", jobOf(func(job *batchv1.Job) { job.Spec.Parallelism = new(int32(1)) }), []string{"a Running ready", "b Pending"},
			[]string{"delete pods ns/b", "patch pods ns/b", status}, "active=1 ready=1 terminating=1 succeeded=0 failed=0", []string{"SuccessfulDelete: Deleted pod: b"}, 0},
		{"suspended", "the pods are deleted, and don't count", jobOf(func(job *batchv1.Job) { job.Spec.Suspend = new(true) }), []string{"a Running ready", "b Running"},
			[]string{"delete pods ns/a", "delete pods ns/b", "patch pods ns/a", "patch pods ns/b", status},
			"active=0 ready=0 terminating=2 succeeded=0 failed=0 Suspended=True(JobSuspended: Job suspended)",
			[]string{"SuccessfulDelete: Deleted pod: a", "SuccessfulDelete: Deleted pod: b", "Suspended: Job suspended"}, 0},
		{"resumed", "the time of the start is new", jobOf(func(job *batchv1.Job) {
			job.Status.Conditions = []batchv1.JobCondition{*newCondition(batchv1.JobSuspended, "JobSuspended", "Job suspended")}
		}), []string{"a Running", "b Running"}, []string{status}, "active=2 ready=0 terminating=0 succeeded=0 failed=0 Suspended=False(JobResumed: Job resumed)", []string{"Resumed: Job resumed"}, 0},
		{"deadline", "the time isn't over", jobOf(func(job *batchv1.Job) { job.Spec.ActiveDeadlineSeconds = new(int64(70)) }), []string{"a Running", "b Running"},
			[]string{status}, "active=2 ready=0 terminating=0 succeeded=0 failed=0", nil, 10 * time.Second},
		{"over the deadline", "the pods are deleted", jobOf(func(job *batchv1.Job) {
			job.Spec.ActiveDeadlineSeconds, job.Spec.Parallelism = new(int64(60)), new(int32(1))
		}), []string{"a Running ready"}, []string{"delete pods ns/a", "patch pods ns/a", status, status},
			"active=0 ready=0 terminating=1 succeeded=0 failed=1 FailureTarget=True(DeadlineExceeded: Job was active longer than specified deadline)", []string{"SuccessfulDelete: Deleted pod: a"}, 0},
		{"managed elsewhere", "another controller works on the Job", jobOf(func(job *batchv1.Job) { job.Spec.ManagedBy = new("example.com/c") }), []string{"a Succeeded"}, nil, "", nil, 0},
		{"finished", "the work is done", jobOf(func(job *batchv1.Job) {
			job.Status.Conditions = []batchv1.JobCondition{*newCondition(batchv1.JobFailed, "", "")}
		}), []string{"a Running"}, nil, "", nil, 0},
		{"deleted Job", "no pod is created, and the finalizers go", jobOf(func(job *batchv1.Job) { job.DeletionTimestamp = new(after(-1)) }), []string{"a Running"},
			[]string{"patch pods ns/a", status}, "active=1 ready=0 terminating=0 succeeded=0 failed=0", nil, 0},
		{"ignored failure", "the policy doesn't count the pod", jobOf(func(job *batchv1.Job) { job.Spec.PodFailurePolicy, job.Spec.BackoffLimit = ignoring, new(int32(0)) }),
			[]string{"a Failed ready", "b Running"}, []string{"patch pods ns/a", status}, "active=1 ready=0 terminating=0 succeeded=0 failed=0", nil, 5 * time.Second},

		{"indexed", "pods of the first indexes are created", indexedOf(3, func(job *batchv1.Job) { job.Spec.Parallelism = new(int32(2)) }), nil,
			[]string{"create pods ns", "create pods ns", status}, "active=2 ready=0 terminating=0 succeeded=0 failed=0",
			[]string{"SuccessfulCreate: Created pod: j-0-1", "SuccessfulCreate: Created pod: j-1-2"}, 0},
		{"index succeeded", "it counts once", indexedOf(3, func(job *batchv1.Job) { job.Status.CompletedIndexes, job.Status.Succeeded = "1", 1 }),
			[]string{"0a Running", "1a Succeeded", "2a Succeeded"}, []string{"patch pods ns/1a", "patch pods ns/2a", status}, "active=1 ready=0 terminating=0 succeeded=2 failed=0 completed=1,2", nil, 0},
		{"index twice", "one pod of an index is enough", indexedOf(2, nil), []string{"0a Running ready", "0b Running", "1a Running", "3a Running"},
			[]string{"delete pods ns/0b", "delete pods ns/3a", "patch pods ns/0b", "patch pods ns/3a", status}, "active=2 ready=1 terminating=2 succeeded=0 failed=0",
			[]string{"SuccessfulDelete: Deleted pod: 0b", "SuccessfulDelete: Deleted pod: 3a"}, 0},
		{"scaled down", "indexes that are no more needed don't count", indexedOf(2, func(job *batchv1.Job) { job.Status.CompletedIndexes, job.Status.Succeeded = "0,3,4", 3 }),
			[]string{"1a Running"}, []string{status}, "active=1 ready=0 terminating=0 succeeded=1 failed=0 completed=0", nil, 0},
		{"index failed", "the pod waits for the next one of its index", indexedOf(2, perIndex), []string{"0a Failed", "1a Running"}, []string{status},
			"active=1 ready=0 terminating=0 succeeded=0 failed=0 spent=", nil, 5 * time.Second},
		{"index is spent", "the index has no failure left, and the other one succeeds", indexedOf(2, perIndex), []string{"0b Failed failures=1", "1a Succeeded"},
			[]string{"patch pods ns/0b", "patch pods ns/1a", status, status},
			"active=0 ready=0 terminating=0 succeeded=1 failed=1 completed=1 spent=0 FailureTarget=True(FailedIndexes: Job has failed indexes) Failed=True(FailedIndexes: Job has failed indexes)",
			[]string{"FailedIndexes: Job has failed indexes"}, 0},
		{"too many indexes are spent", "the others are given up", indexedOf(3, func(job *batchv1.Job) {
			perIndex(job)
			job.Spec.MaxFailedIndexes = new(int32(0))
		}), []string{"0b Failed failures=1", "1a Running", "2a Running"},
			[]string{"delete pods ns/1a", "delete pods ns/2a", "patch pods ns/0b", "patch pods ns/1a", "patch pods ns/2a", status, status},
			"active=0 ready=0 terminating=2 succeeded=0 failed=3 spent=0 FailureTarget=True(MaxFailedIndexesExceeded: Job has exceeded the specified maximal number of failed indexes)",
			[]string{"SuccessfulDelete: Deleted pod: 1a", "SuccessfulDelete: Deleted pod: 2a"}, 0},
		{"success policy", "the other pods are deleted, and don't count as failed", indexedOf(3, func(job *batchv1.Job) {
			job.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: new("1")}}}
		}), []string{"0a Running", "1a Succeeded"}, []string{"delete pods ns/0a", "patch pods ns/0a", "patch pods ns/1a", status},
			"active=0 ready=0 terminating=1 succeeded=1 failed=0 completed=1 SuccessCriteriaMet=True(SuccessPolicy: Matched rules at index 0)",
			[]string{"SuccessfulDelete: Deleted pod: 0a"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var pods []*corev1.Pod
				for _, text := range test.pods {
					pods = append(pods, podOf(text))
				}
				f := newFixture(ctx, t, test.job, pods...)
				again, err := f.sync(ctx, "ns/j")
				if err != nil || again != test.again {
					t.Errorf("%s: want a look after %s, got %s, %v", test.reason, test.again, again, err)
				}
				events, writes := f.requests()
				if diff := cmp.Diff(test.events, events, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: the events differ (-want +got):\n%s", test.reason, diff)
				}
				if diff := cmp.Diff(test.writes, writes, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: the writes differ (-want +got):\n%s", test.reason, diff)
				}
				if test.status == "" {
					return
				}
				job, err := f.client.BatchV1().Jobs("ns").Get(ctx, "j", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.status, summary(job.Status)); diff != "" {
					t.Errorf("%s: the status differs (-want +got):\n%s", test.reason, diff)
				}
			})
		})
	}
}

// A pod counts only when its finalizer is removed. Until then, the status has its UID.
func TestFinalizerThatStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f := newFixture(ctx, t, jobOf(nil), podOf("a Succeeded"), podOf("b Succeeded"))
		refused := errors.New("refused")
		f.client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
			return action.(clienttesting.PatchAction).GetName() == "a", nil, refused
		})
		if _, err := f.sync(ctx, "ns/j"); !errors.Is(err, refused) {
			t.Errorf("want the error of the patch, got %v", err)
		}
		job, err := f.client.BatchV1().Jobs("ns").Get(ctx, "j", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := "active=0 ready=0 terminating=0 succeeded=1 failed=0 uncounted=[a][] SuccessCriteriaMet=True(CompletionsReached: Reached expected number of succeeded pods)"
		if diff := cmp.Diff(want, summary(job.Status)); diff != "" {
			t.Errorf("the status differs (-want +got):\n%s", diff)
		}
	})
}

// After a failure, a pod is replaced later. The controller forgets the failure when it is told to, and when the Job is gone.
func TestForget(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		forget       func(*controller)
		want         bool
	}{
		{"restore", "the snapshot may be older than the failure", (*controller).forgetAll, false},
		{"gone", "another Job of the name begins anew", func(c *controller) { c.forget("ns/j") }, false},
		{"neither", "the Job is the same", func(*controller) {}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				f := newFixture(ctx, t, jobOf(nil), podOf("a Failed"))
				if _, err := f.sync(ctx, "ns/j"); err != nil {
					t.Fatal(err)
				}
				test.forget(f.controller)
				if delayed := f.backoffOf("ns/j").left(time.Now()) > 0; delayed != test.want {
					t.Errorf("%s: want a delay: %t, got %t", test.reason, test.want, delayed)
				}
			})
		})
	}
}

func TestNewPod(t *testing.T) {
	t.Parallel()
	job := indexedOf(3, func(job *batchv1.Job) {
		job.Name, job.Spec.BackoffLimitPerIndex = strings.Repeat("j", 60), new(int32(3))
		job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionIgnore,
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}}
	})
	got := newPod(job, 2, podOf("2a Failed ready failures=1"))
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", GenerateName: strings.Repeat("j", 55) + "-2-", Finalizers: []string{"batch.kubernetes.io/job-tracking"},
			Labels: map[string]string{"job": "j", "batch.kubernetes.io/job-completion-index": "2"},
			Annotations: map[string]string{"batch.kubernetes.io/job-completion-index": "2", "batch.kubernetes.io/job-index-failure-count": "1",
				"batch.kubernetes.io/job-index-ignored-failure-count": "1"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, kind)},
		},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Hostname: job.Name + "-2", Containers: []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{
			Name: "JOB_COMPLETION_INDEX", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']"}},
		}}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the pod differs (-want +got):\n%s", diff)
	}
}

// A pod keeps its finalizer until its Job has counted it. A pod that no Job counts loses it.
func TestReleaseOrphan(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		change       func(*corev1.Pod)
		job          *batchv1.Job
		want         bool
	}{
		{"counted later", "the Job counts the pod when it ends", nil, jobOf(nil), false},
		{"no controller", "no Job counts the pod", func(pod *corev1.Pod) { pod.OwnerReferences = nil }, jobOf(nil), true},
		{"other controller", "the pod isn't a Job's", func(pod *corev1.Pod) { pod.OwnerReferences[0].APIVersion = "example.com/v1" }, jobOf(nil), false},
		{"Job was made again", "the UID is another one", func(pod *corev1.Pod) { pod.OwnerReferences[0].UID = "other" }, jobOf(nil), true},
		{"Job has ended", "the Job counts no more", nil, jobOf(func(job *batchv1.Job) {
			job.Status.Conditions = []batchv1.JobCondition{*newCondition(batchv1.JobComplete, "", "")}
		}), true},
		{"managed elsewhere", "another controller removes the finalizer", nil, jobOf(func(job *batchv1.Job) {
			job.Spec.ManagedBy, job.Status.Conditions = new("example.com/c"), []batchv1.JobCondition{*newCondition(batchv1.JobComplete, "", "")}
		}), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pod := podOf("a Running")
			if test.change != nil {
				test.change(pod)
			}
			f := newFixture(t.Context(), t, test.job, pod)
			if _, err := f.releaseOrphan(t.Context(), "ns/a"); err != nil {
				t.Fatal(err)
			}
			if patched := len(f.client.Actions()) > 0; patched != test.want {
				t.Errorf("%s: want the finalizer to be removed: %t, got the writes %v", test.reason, test.want, controllertest.Writes(f.client.Actions()))
			}
		})
	}
}
