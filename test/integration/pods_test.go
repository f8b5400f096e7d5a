package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// podOn returns a pod on the first node, with stages.
func podOn(name, stages string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{NodeName: "node-0", Containers: []corev1.Container{{Name: "c", Image: "image"}}},
	}
	if stages != "" {
		pod.Annotations["miniapi.dev/stages"] = stages
	}
	return pod
}

// containersOf has the phase of a pod, the state of its first container with its restarts, and whether the pod is ready.
func containersOf(pod *corev1.Pod) string {
	text := string(pod.Status.Phase)
	for _, c := range pod.Status.ContainerStatuses {
		switch {
		case c.State.Running != nil:
			text += " running"
		case c.State.Terminated != nil:
			text += fmt.Sprintf(" exit %d", c.State.Terminated.ExitCode)
		case c.State.Waiting != nil:
			text += " " + c.State.Waiting.Reason
		}
		text += fmt.Sprintf("/%d", c.RestartCount)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			text += " ready"
		}
	}
	return text
}

func eventuallyInState(t *testing.T, pods corev1client.PodInterface, name, want string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		pod, err := pods.Get(ctx, name, metav1.GetOptions{})
		if err == nil && containersOf(pod) != want {
			err = fmt.Errorf("pod %s: want %q, got %q", name, want, containersOf(pod))
		}
		return err
	})
}

func eventuallyGone(t *testing.T, pods corev1client.PodInterface, name string) {
	t.Helper()
	gone(t, "pod "+name, func(ctx context.Context) (*corev1.Pod, error) { return pods.Get(ctx, name, metav1.GetOptions{}) })
}

// The nodes are ready, each has a Lease as that of a kubelet, a range of addresses, and a zone.
func TestNodesThatPretend(t *testing.T) {
	t.Parallel()
	client := miniapitest.Start(t, miniapitest.WithNodes(4)).Client()
	nodes := must(client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}))(t)
	zones, ranges := map[string]bool{}, map[string]bool{}
	for _, node := range nodes.Items {
		zones[node.Labels[corev1.LabelTopologyZone]], ranges[node.Spec.PodCIDR] = true, true
		ready := node.Status.Conditions[len(node.Status.Conditions)-1]
		if ready.Type != corev1.NodeReady || ready.Status != corev1.ConditionTrue || node.Status.NodeInfo.KubeletVersion[:5] != "v1.37" {
			t.Errorf("want node %s to be ready, in version 1.37, got %+v and %+v", node.Name, ready, node.Status.NodeInfo)
		}
		lease := must(client.CoordinationV1().Leases("kube-node-lease").Get(t.Context(), node.Name, metav1.GetOptions{}))(t)
		if *lease.Spec.LeaseDurationSeconds != 40 || time.Since(lease.Spec.RenewTime.Time) > time.Minute || lease.OwnerReferences[0].UID != node.UID {
			t.Errorf("want a Lease of 40 s of node %s, got %+v of %+v", node.Name, lease.Spec, lease.OwnerReferences)
		}
	}
	if len(nodes.Items) != 4 || len(zones) != 3 || len(ranges) != 4 {
		t.Errorf("want 4 nodes in 3 zones with 4 ranges, got %d in %v with %v", len(nodes.Items), zones, ranges)
	}
}

// A pod goes through the stages that its annotation names, or else through the default ones.
func TestStagesOfPods(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, stages string
		steps                []string // the states after each step
	}{
		{"ready", "a pod is ready at once", "", []string{"Running running/0 ready"}},
		{"complete", "the containers end", "complete", []string{"Running running/0 ready", "Succeeded exit 0/0"}},
		{"failure", "the containers fail", "failure", []string{"Running running/0 ready", "Failed exit 1/0"}},
		{"slow start", "the sandbox, the containers and the probes take time", "slow-start",
			[]string{"Pending ContainerCreating/0", "Running running/0", "Running running/0 ready"}},
		{"crash loop", "the first restart is immediate", "crash-loop", []string{
			"Running running/0 ready", "Running exit 1/0", "Running running/1 ready", "Running exit 1/1", "Running CrashLoopBackOff/1", "Running running/2 ready",
		}},
		{"image pull failure", "the pull is tried again", "image-pull-failure", []string{"Pending ErrImagePull/0", "Pending ImagePullBackOff/0"}},
		{"readiness failure", "the pod runs, and is never ready", "readiness-failure", []string{"Running running/0"}},
		{"evicted", "the kubelet ends the pod", "evicted", []string{"Running running/0 ready", "Failed exit 137/0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv := miniapitest.Start(t, miniapitest.WithWorkloads())
			pods := srv.Client().CoreV1().Pods("default")
			ok(t, srv.Pods().Hold())
			pod := podOn("p", test.stages)
			if pod.Spec.RestartPolicy = corev1.RestartPolicyNever; strings.HasPrefix(test.stages, "crash") {
				pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
			}
			pod = must(pods.Create(t.Context(), pod, metav1.CreateOptions{}))(t)
			if got := containersOf(pod); got != "Pending" {
				t.Fatalf("want a held pod to be pending, got %s", got)
			}
			for _, want := range test.steps {
				ok(t, srv.Pods().Step("default/p"))
				if got := containersOf(must(pods.Get(t.Context(), "p", metav1.GetOptions{}))(t)); got != want {
					t.Errorf("%s: want %q, got %q", test.reason, want, got)
				}
			}
			ok(t, srv.Pods().Release())
			ok(t, pods.Delete(t.Context(), "p", metav1.DeleteOptions{}))
			eventuallyGone(t, pods, "p")
		})
	}
}

// A held clock moves only by Advance, and the stages come in the order of their times.
func TestClockOfPods(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithStages("slow-start:slow=yes"))
	pods := srv.Client().CoreV1().Pods("default")
	if err := srv.Pods().Step(); err == nil || !strings.Contains(err.Error(), "hold them first") {
		t.Errorf("want an error of a step without a hold, got %v", err)
	}
	ok(t, srv.Pods().Hold())
	slow := podOn("slow", "")
	slow.Labels = map[string]string{"slow": "yes"}
	must(pods.Create(t.Context(), slow, metav1.CreateOptions{}))(t)
	must(pods.Create(t.Context(), podOn("fast", ""), metav1.CreateOptions{}))(t)
	for _, step := range []struct {
		by         time.Duration
		slow, fast string
	}{
		{0, "Pending ContainerCreating/0", "Running running/0 ready"},
		{999 * time.Millisecond, "Pending ContainerCreating/0", "Running running/0 ready"},
		{time.Millisecond, "Running running/0", "Running running/0 ready"},
		{time.Hour, "Running running/0 ready", "Running running/0 ready"},
	} {
		ok(t, srv.Pods().Advance(step.by))
		for name, want := range map[string]string{"slow": step.slow, "fast": step.fast} {
			if got := containersOf(must(pods.Get(t.Context(), name, metav1.GetOptions{}))(t)); got != want {
				t.Errorf("%s later: want pod %s to be %q, got %q", step.by, name, want, got)
			}
		}
	}
}

// A test lets a pod fail for a reason.
func TestPodsThatFail(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithWorkloads())
	pods := srv.Client().CoreV1().Pods("default")
	for _, name := range []string{"a", "b"} {
		must(pods.Create(t.Context(), podOn(name, ""), metav1.CreateOptions{}))(t)
		eventuallyInState(t, pods, name, "Running running/0 ready")
	}
	ok(t, srv.Pods().Fail("default/a", "NodeAffinity"))
	if pod := must(pods.Get(t.Context(), "a", metav1.GetOptions{}))(t); containersOf(pod) != "Failed exit 1/0" || pod.Status.Reason != "NodeAffinity" {
		t.Errorf("want a to fail for its reason, got %s and %q", containersOf(pod), pod.Status.Reason)
	}
	ok(t, srv.Pods().Fail("default/b", "OOMKilled"))
	if pod := must(pods.Get(t.Context(), "b", metav1.GetOptions{}))(t); containersOf(pod) != "Failed exit 137/0" || pod.Status.ContainerStatuses[0].State.Terminated.Reason != "OOMKilled" {
		t.Errorf("want the container of b to be killed, got %s", containersOf(pod))
	}
	if err := srv.Pods().Fail("default/none", "OOMKilled"); err == nil || !strings.Contains(err.Error(), `pod "default/none"`) {
		t.Errorf("want an error that names the pod, got %v", err)
	}
}

// A deleted pod stays until its finalizer is removed, and an evicted pod is deleted.
func TestPodsThatAreDeleted(t *testing.T) {
	t.Parallel()
	client := miniapitest.Start(t, miniapitest.WithWorkloads()).Client()
	pods := client.CoreV1().Pods("default")
	pod := podOn("kept", "")
	pod.Finalizers = []string{"example.com/keep"}
	must(pods.Create(t.Context(), pod, metav1.CreateOptions{}))(t)
	eventuallyInState(t, pods, "kept", "Running running/0 ready")
	ok(t, pods.Delete(t.Context(), "kept", metav1.DeleteOptions{}))
	eventuallyInState(t, pods, "kept", "Failed exit 143/0")
	must(pods.Patch(t.Context(), "kept", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}))(t)
	eventuallyGone(t, pods, "kept")

	must(pods.Create(t.Context(), podOn("drained", ""), metav1.CreateOptions{}))(t)
	ok(t, client.PolicyV1().Evictions("default").Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "drained"}}))
	eventuallyGone(t, pods, "drained")
}

// An ephemeral container of kubectl debug runs.
func TestEphemeralContainersRun(t *testing.T) {
	t.Parallel()
	pods := miniapitest.Start(t, miniapitest.WithWorkloads()).Client().CoreV1().Pods("default")
	must(pods.Create(t.Context(), podOn("p", ""), metav1.CreateOptions{}))(t)
	eventuallyInState(t, pods, "p", "Running running/0 ready")
	patch := []byte(`{"spec":{"ephemeralContainers":[{"name":"debugger","image":"busybox","targetContainerName":"c"}]}}`)
	must(pods.Patch(t.Context(), "p", types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "ephemeralcontainers"))(t)
	eventually(t, func(ctx context.Context) error {
		pod, err := pods.Get(ctx, "p", metav1.GetOptions{})
		if s := pod.Status.EphemeralContainerStatuses; err == nil && (len(s) != 1 || s[0].State.Running == nil) {
			err = fmt.Errorf("want the ephemeral container to run, got %+v", s)
		}
		return err
	})
}

// The kubelet of a lost node stops: the node isn't ready, and its pods don't end.
func TestLostNode(t *testing.T) {
	t.Parallel()
	client := miniapitest.Start(t, miniapitest.WithWorkloads(), miniapitest.WithControllers("workloads")).Client()
	nodes, pods := client.CoreV1().Nodes(), client.CoreV1().Pods("default")
	ready := func(want corev1.ConditionStatus) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			node, err := nodes.Get(ctx, "node-0", metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, c := range node.Status.Conditions {
				if c.Type == corev1.NodeReady && c.Status != want {
					return fmt.Errorf("want the node to be ready: %s, got %s", want, c.Status)
				}
			}
			return nil
		})
	}
	must(nodes.Patch(t.Context(), "node-0", types.MergePatchType, []byte(`{"metadata":{"annotations":{"miniapi.dev/stages":"node-lost"}}}`), metav1.PatchOptions{}))(t)
	ready(corev1.ConditionUnknown)
	pod := podOn("p", "")
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	must(pods.Create(t.Context(), pod, metav1.CreateOptions{}))(t)
	must(nodes.Patch(t.Context(), "node-0", types.MergePatchType, []byte(`{"metadata":{"annotations":{"miniapi.dev/stages":null}}}`), metav1.PatchOptions{}))(t)
	ready(corev1.ConditionTrue)
	eventuallyInState(t, pods, "p", "Running running/0 ready")
}

// A reset brings the nodes back, and the kubelets forget the pods.
func TestResetWithWorkloads(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithWorkloads())
	client := srv.Client()
	pods := client.CoreV1().Pods("default")
	for range 3 {
		must(pods.Create(t.Context(), podOn("p", ""), metav1.CreateOptions{}))(t)
		eventuallyInState(t, pods, "p", "Running running/0 ready")
		ok(t, client.CoreV1().Nodes().Delete(t.Context(), "node-0", metav1.DeleteOptions{}))
		ok(t, srv.Pods().Hold())
		ok(t, srv.Reset())
		must(client.CoreV1().Nodes().Get(t.Context(), "node-0", metav1.GetOptions{}))(t)
	}
}

// Errors about stages name the file, the stage, the field and the value.
func TestInvalidStages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, value, want string }{
		{"name", "slow", `WithStages: "slow" is neither a file nor one of complete, crash-loop,`},
		{"selector", "ready:a in", `WithStages: "ready:a in": the label selector of the stages ready: `},
		{"file", "testdata/invalid_stages.yaml", `invalid_stages.yaml: stage "broken": spec.selector.matchExpressions[0].jq: Invalid value: ".status.phase[": `},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv, err := miniapitest.New(t.Context(), miniapitest.WithStages(test.value))
			if err == nil {
				_ = srv.Stop()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want an error with %q, got %v", test.want, err)
			}
		})
	}
}

// Stages of kwok's own form replace the default ones.
func TestStagesOfKwok(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithStages("testdata/kwok_stages.yaml"))
	pods := srv.Client().CoreV1().Pods("default")
	must(pods.Create(t.Context(), podOn("p", ""), metav1.CreateOptions{}))(t)
	eventuallyInState(t, pods, "p", "Running running/0 ready")
	pod := must(pods.Get(t.Context(), "p", metav1.GetOptions{}))(t)
	if !strings.HasPrefix(pod.Status.PodIP, "10.244.0.") || pod.Status.HostIP != "198.18.0.1" || pod.Labels["staged"] != "yes" {
		t.Errorf("want the addresses and the label of the stage, got %+v with %v", pod.Status, pod.Labels)
	}
	ok(t, pods.Delete(t.Context(), "p", metav1.DeleteOptions{}))
	eventuallyGone(t, pods, "p")
}
