package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
	"github.com/miniapi-dev/miniapi/pkg/conformance/incluster"
	"github.com/miniapi-dev/miniapi/test/fakenode"
)

// clusterOfOneNode runs a server with a stand-in for a node. The containers of the node run miniapi.
func clusterOfOneNode(t *testing.T, o fakenode.Options) (kubeconfig string, c kubernetes.Interface, n *fakenode.Node) {
	t.Helper()
	server, config := serve(t)
	o.Client, o.Selector = client(t, config), incluster.Selector
	o.Command = func(args []string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(programs, "miniapi"), args...)
		cmd.Env = []string{asProgram + "=1"}
		return cmd
	}
	return server.kubeconfig(t), o.Client, fakenode.Start(t, o)
}

// inCluster are patterns of the cases that depend on the network path from the server to a webhook: reviews, faults of
// connections, timeouts, conversions and services.
const inCluster = "matrix.review.create,failure.*,timeout.*,conversion.request,service.*"

// With --webhook-image, the suite runs a relay in the cluster, which forwards calls of webhooks to the suite. Some
// servers need the relay, because they can't connect to the machine that runs the suite.
func TestConformanceInCluster(t *testing.T) {
	t.Parallel()
	kubeconfig, c, n := clusterOfOneNode(t, fakenode.Options{})
	code, stdout, stderr := start(t, "miniapi", "conformance", "apiserver", "--kubeconfig", kubeconfig, "--webhook-image", "miniapi:test", "--only", inCluster).exit(t)
	if code != 0 || !strings.Contains(stdout, " 0 failed") || !strings.Contains(stderr, "from the image miniapi:test") {
		t.Errorf("want no failed case, got exit code %d, %q and %q", code, stdout, stderr)
	}
	nothingLeft(t, c, n)
}

// With --webhook-image, a run creates a Deployment in the cluster. An interrupted run removes the Deployment. A killed
// run leaves the Deployment, and --cleanup removes it.
func TestConformanceInClusterInterrupted(t *testing.T) {
	t.Parallel()
	kubeconfig, c, n := clusterOfOneNode(t, fakenode.Options{})
	run := func() *process {
		p := start(t, "miniapi", "conformance", "apiserver", "--kubeconfig", kubeconfig, "--webhook-image", "miniapi:test")
		waitFor(t, "a case runs", func() bool {
			list, err := c.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{LabelSelector: trial.LabelCase})
			return err == nil && len(list.Items) > 0
		})
		if len(n.Running()) != 1 {
			t.Fatalf("want one pod, got %q", n.Running())
		}
		return p
	}
	p := run()
	p.signal(t, os.Interrupt)
	if code, _, stderr := p.exit(t); code != 1 || !strings.Contains(stderr, "the run was interrupted") {
		t.Errorf("want exit code 1 and the reason, got %d and %q", code, stderr)
	}
	nothingLeft(t, c, n)

	p = run()
	p.signal(t, syscall.SIGKILL)
	p.exit(t)
	if len(n.Running()) != 1 {
		t.Fatalf("a killed run removes nothing: want one pod, got %q", n.Running())
	}
	if code, stdout, stderr := start(t, "miniapi", "conformance", "apiserver", "--kubeconfig", kubeconfig, "--cleanup").exit(t); code != 0 || !strings.Contains(stdout, "-webhooks removed") {
		t.Errorf("want the namespace of the webhooks removed, got exit code %d, %q and %q", code, stdout, stderr)
	}
	nothingLeft(t, c, n)
}

// With --webhook-image, "miniapi conformance apiserver" starts a pod in the cluster. If the pod doesn't start, the
// error has the pod's message, and the command removes all objects that it has created.
func TestConformanceInClusterNotReady(t *testing.T) {
	t.Parallel()
	kubeconfig, c, n := clusterOfOneNode(t, fakenode.Options{PullError: "manifest unknown"})
	code, _, stderr := start(t, "miniapi", "conformance", "apiserver", "--kubeconfig", kubeconfig, "--webhook-image", "miniapi:test", "--webhook-timeout", "15s").exit(t)
	if want := "not ready after 15s: pod conformance-webhooks-0 doesn't start: ErrImagePull: manifest unknown"; code != cli.ExitUsage || !strings.Contains(stderr, want) {
		t.Errorf("want exit code %d and %q, got %d and %q", cli.ExitUsage, want, code, stderr)
	}
	nothingLeft(t, c, n)
	code, _, stderr = start(t, "miniapi", "conformance", "apiserver", "--kubeconfig", kubeconfig, "--webhook-image", "miniapi:test", "--webhook-address", "127.0.0.1:0").exit(t)
	if want := "give one of them"; code != cli.ExitUsage || !strings.Contains(stderr, want) {
		t.Errorf("want exit code %d and %q, got %d and %q", cli.ExitUsage, want, code, stderr)
	}
}

// nothingLeft checks that a run has left neither objects nor processes.
func nothingLeft(t *testing.T, c kubernetes.Interface, n *fakenode.Node) {
	t.Helper()
	waitFor(t, "the pods end", func() bool { return len(n.Running()) == 0 })
	noObjectsLeft(t, c)
}

// noObjectsLeft checks that a run has left no namespaces, Deployments, pods and webhook configurations.
func noObjectsLeft(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	labelled := metav1.ListOptions{LabelSelector: trial.LabelRun}
	for what, count := range map[string]func() (int, error){
		"namespaces": func() (int, error) {
			list, err := c.CoreV1().Namespaces().List(t.Context(), labelled)
			return len(list.Items), err
		},
		"Deployments": func() (int, error) {
			list, err := c.AppsV1().Deployments("").List(t.Context(), labelled)
			return len(list.Items), err
		},
		"pods": func() (int, error) {
			list, err := c.CoreV1().Pods("").List(t.Context(), labelled)
			return len(list.Items), err
		},
		"validating configurations": func() (int, error) {
			list, err := c.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(t.Context(), labelled)
			return len(list.Items), err
		},
		"mutating configurations": func() (int, error) {
			list, err := c.AdmissionregistrationV1().MutatingWebhookConfigurations().List(t.Context(), labelled)
			return len(list.Items), err
		},
	} {
		if n, err := count(); err != nil || n > 0 {
			t.Errorf("want no %s left, got %d (%v)", what, n, err)
		}
	}
}

// waitFor calls the function holds until holds returns true. If holds returns false until the deadline, the test fails.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, deadline, true, func(context.Context) (bool, error) { return holds(), nil }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
