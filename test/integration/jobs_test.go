package integration_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// jobs is a namespace with Jobs, whose pods the test ends.
type jobs struct {
	testing.TB
	client    kubernetes.Interface
	namespace string
}

// create creates a Job and returns its name.
func (j jobs) create(name string, change func(*batchv1.JobSpec)) string {
	j.Helper()
	spec := *simpleJob.DeepCopy()
	if change != nil {
		change(&spec)
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	must(j.client.BatchV1().Jobs(j.namespace).Create(j.Context(), job, metav1.CreateOptions{}))(j.TB)
	return name
}

// pods waits until the active pods of a Job have these names, without the random ending, and returns them.
func (j jobs) pods(job string, want ...string) (pods []corev1.Pod) {
	j.Helper()
	eventually(j.TB, func(ctx context.Context) error {
		list, err := j.client.CoreV1().Pods(j.namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
		if err != nil {
			return err
		}
		pods = slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
			return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		})
		var names []string
		for _, pod := range pods {
			names = append(names, pod.GenerateName)
		}
		if !slices.Equal(names, want) {
			return fmt.Errorf("want the active pods %q of job %s, got %q", want, job, names)
		}
		return nil
	})
	return pods
}

// end writes the phase of a pod that has ended. Its container has an exit code.
func (j jobs) end(pod corev1.Pod, code int32) {
	j.Helper()
	pod.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		pod.Status.Phase = corev1.PodFailed
	}
	// The backoff after a failure counts from the end of the container, which is long ago.
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, FinishedAt: metav1.Date(2000, 1, 1, 0, 0, 0, 0, metav1.Now().Location()),
	}}}}
	must(j.client.CoreV1().Pods(j.namespace).UpdateStatus(j.Context(), &pod, metav1.UpdateOptions{}))(j.TB)
}

// expect waits until a Job has these conditions and counts, and the events with these reasons.
func (j jobs) expect(job, status string, reasons ...string) {
	j.Helper()
	eventually(j.TB, func(ctx context.Context) error {
		found, err := j.client.BatchV1().Jobs(j.namespace).Get(ctx, job, metav1.GetOptions{})
		if err != nil {
			return err
		}
		got := fmt.Sprintf("active=%d succeeded=%d failed=%d", found.Status.Active, found.Status.Succeeded, found.Status.Failed)
		for _, condition := range found.Status.Conditions {
			got += fmt.Sprintf(" %s=%s:%s", condition.Type, condition.Status, condition.Reason)
		}
		if got != status {
			return fmt.Errorf("want job %s with the status %q, got %q", job, status, got)
		}
		return nil
	})
	eventually(j.TB, func(ctx context.Context) error {
		list, err := j.client.CoreV1().Events(j.namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=Job,involvedObject.name=" + job})
		if err != nil {
			return err
		}
		var got []string
		for _, event := range list.Items {
			for range event.Count {
				got = append(got, event.Reason)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, reasons) {
			return fmt.Errorf("want the events %q about job %s, got %q", reasons, job, got)
		}
		return nil
	})
	list := must(j.client.CoreV1().Pods(j.namespace).List(j.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job}))(j.TB)
	for _, pod := range list.Items {
		if strings.Contains(status, "Complete") && slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) {
			j.Errorf("pod %s of the completed job %s has the finalizer", pod.Name, job)
		}
	}
}

func (j jobs) patch(job, patch string) {
	j.Helper()
	must(j.client.BatchV1().Jobs(j.namespace).Patch(j.Context(), job, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}))(j.TB)
}

// A Job runs pods until enough of them have succeeded, or too many have failed. Its conditions and events say why it ends.
func TestJobs(t *testing.T) {
	t.Parallel()
	client := miniapitest.Start(t, withControllers("job", "podgc")).Client()
	for _, test := range []struct {
		name, reason string
		run          func(jobs)
	}{
		{"completions", "as many pods run as are missing", func(j jobs) {
			job := j.create("j", func(spec *batchv1.JobSpec) { spec.Completions, spec.Parallelism = new(int32(3)), new(int32(2)) })
			pods := j.pods(job, "j-", "j-")
			j.end(pods[0], 0)
			j.end(pods[1], 0)
			j.end(j.pods(job, "j-")[0], 0)
			j.expect(job, "active=0 succeeded=3 failed=0 SuccessCriteriaMet=True:CompletionsReached Complete=True:CompletionsReached",
				"Completed", "SuccessfulCreate", "SuccessfulCreate", "SuccessfulCreate")
		}},
		{"backoff limit", "a pod is replaced once", func(j jobs) {
			job := j.create("j", func(spec *batchv1.JobSpec) { spec.BackoffLimit = new(int32(1)) })
			j.end(j.pods(job, "j-")[0], 1)
			j.end(j.pods(job, "j-")[0], 1)
			j.expect(job, "active=0 succeeded=0 failed=2 FailureTarget=True:BackoffLimitExceeded Failed=True:BackoffLimitExceeded",
				"BackoffLimitExceeded", "SuccessfulCreate", "SuccessfulCreate")
		}},
		{"indexed", "each index succeeds once", func(j jobs) {
			job := j.create("j", func(spec *batchv1.JobSpec) {
				spec.CompletionMode, spec.Completions, spec.Parallelism = new(batchv1.IndexedCompletion), new(int32(2)), new(int32(2))
			})
			pods := j.pods(job, "j-0-", "j-1-")
			j.end(pods[1], 0)
			j.end(pods[0], 1)
			j.end(j.pods(job, "j-0-")[0], 0)
			j.expect(job, "active=0 succeeded=2 failed=1 SuccessCriteriaMet=True:CompletionsReached Complete=True:CompletionsReached",
				"Completed", "SuccessfulCreate", "SuccessfulCreate", "SuccessfulCreate")
		}},
		{"backoff limit per index", "an index fails without the others", func(j jobs) {
			job := j.create("j", func(spec *batchv1.JobSpec) {
				spec.CompletionMode, spec.Completions, spec.Parallelism = new(batchv1.IndexedCompletion), new(int32(2)), new(int32(2))
				spec.BackoffLimitPerIndex = new(int32(1))
			})
			pods := j.pods(job, "j-0-", "j-1-")
			j.end(pods[0], 1)
			pods = j.pods(job, "j-0-", "j-1-")
			if count := pods[0].Annotations[batchv1.JobIndexFailureCountAnnotation]; count != "1" {
				j.Errorf("want one failure of index 0, got %q", count)
			}
			j.end(pods[0], 1)
			j.end(pods[1], 0)
			j.expect(job, "active=0 succeeded=1 failed=2 FailureTarget=True:FailedIndexes Failed=True:FailedIndexes",
				"FailedIndexes", "SuccessfulCreate", "SuccessfulCreate", "SuccessfulCreate")
		}},
		{"pod failure policy", "an exit code fails the Job", func(j jobs) {
			job := j.create("j", func(spec *batchv1.JobSpec) {
				spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionFailJob,
					OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}}}}}
			})
			j.end(j.pods(job, "j-")[0], 42)
			j.expect(job, "active=0 succeeded=0 failed=1 FailureTarget=True:PodFailurePolicy Failed=True:PodFailurePolicy", "PodFailurePolicy", "SuccessfulCreate")
		}},
		{"success policy", "one index is enough", func(j jobs) {
			job := j.create("j", func(spec *batchv1.JobSpec) {
				spec.CompletionMode, spec.Completions, spec.Parallelism = new(batchv1.IndexedCompletion), new(int32(2)), new(int32(2))
				spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: new("1")}}}
			})
			j.end(j.pods(job, "j-0-", "j-1-")[1], 0)
			j.expect(job, "active=0 succeeded=1 failed=0 SuccessCriteriaMet=True:SuccessPolicy Complete=True:SuccessPolicy",
				"Completed", "SuccessfulCreate", "SuccessfulCreate", "SuccessfulDelete")
		}},
		{"suspension", "a suspended Job has no pods", func(j jobs) {
			job := j.create("j", nil)
			j.pods(job, "j-")
			j.patch(job, `{"spec":{"suspend":true}}`)
			j.expect(job, "active=0 succeeded=0 failed=0 Suspended=True:JobSuspended", "SuccessfulCreate", "SuccessfulDelete", "Suspended")
			j.patch(job, `{"spec":{"suspend":false}}`)
			j.end(j.pods(job, "j-")[0], 0)
			j.expect(job, "active=0 succeeded=1 failed=0 Suspended=False:JobResumed SuccessCriteriaMet=True:CompletionsReached Complete=True:CompletionsReached",
				"Completed", "Resumed", "SuccessfulCreate", "SuccessfulCreate", "SuccessfulDelete", "Suspended")
		}},
		{"deadline", "the pods of a Job that takes too long are deleted", func(j jobs) {
			job := j.create("j", func(spec *batchv1.JobSpec) { spec.ActiveDeadlineSeconds = new(int64(1)) })
			j.expect(job, "active=0 succeeded=0 failed=1 FailureTarget=True:DeadlineExceeded Failed=True:DeadlineExceeded",
				"DeadlineExceeded", "SuccessfulCreate", "SuccessfulDelete")
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			namespace := strings.ReplaceAll(test.name, " ", "-")
			must(client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}))(t)
			test.run(jobs{t, client, namespace})
			if t.Failed() {
				t.Log(test.reason)
			}
		})
	}
}

// When a Job is deleted, its pods lose their finalizers, so the garbage collector can delete them, or leaves them.
func TestDeletedJob(t *testing.T) {
	t.Parallel()
	client := miniapitest.Start(t, withControllers("job", "podgc", "garbagecollector")).Client()
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			j := jobs{t, client, "default"}
			name := strings.ToLower(string(policy))
			pod := j.pods(j.create(name, nil), name+"-")[0]
			ok(t, client.BatchV1().Jobs("default").Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}))
			get := func(ctx context.Context) (*corev1.Pod, error) {
				return client.CoreV1().Pods("default").Get(ctx, pod.Name, metav1.GetOptions{})
			}
			gone(t, "the job", func(ctx context.Context) (*batchv1.Job, error) {
				return client.BatchV1().Jobs("default").Get(ctx, name, metav1.GetOptions{})
			})
			if policy != metav1.DeletePropagationOrphan {
				gone(t, "the pod", get)
				return
			}
			eventually(t, func(ctx context.Context) error {
				pod, err := get(ctx)
				if err == nil && len(pod.Finalizers)+len(pod.OwnerReferences) > 0 {
					return fmt.Errorf("want a pod without finalizers and owners, got %+v", pod.ObjectMeta)
				}
				return err
			})
		})
	}
}
