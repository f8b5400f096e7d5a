package integration_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// startedPod starts a server with a pod that runs and has annotations.
func startedPod(t *testing.T, annotations map[string]string, options ...miniapitest.Option) *miniapitest.Server {
	t.Helper()
	srv := miniapitest.Start(t, append(options, miniapitest.WithWorkloads())...)
	pods := srv.Client().CoreV1().Pods("default")
	pod := podOn("p", "")
	pod.Annotations = annotations
	must(pods.Create(t.Context(), pod, metav1.CreateOptions{}))(t)
	eventuallyInState(t, pods, "p", "Running running/0 ready")
	return srv
}

// The log of a container is in an annotation of its pod.
func TestLogsOfPods(t *testing.T) {
	t.Parallel()
	pods := startedPod(t, map[string]string{"miniapi.dev/logs": "one\ntwo\nthree"}).Client().CoreV1().Pods("default")
	for _, test := range []struct {
		name, reason string
		options      corev1.PodLogOptions
		want         string
	}{
		{"all", "each line ends", corev1.PodLogOptions{}, "one\ntwo\nthree\n"},
		{"tail", "the last lines are asked for", corev1.PodLogOptions{TailLines: new(int64(2))}, "two\nthree\n"},
		{"limit", "some bytes are asked for", corev1.PodLogOptions{LimitBytes: new(int64(5))}, "one\nt"},
	} {
		got, err := pods.GetLogs("p", &test.options).DoRaw(t.Context())
		if err != nil || string(got) != test.want {
			t.Errorf("%s: want %q, got %q and %v: %s", test.name, test.want, got, err, test.reason)
		}
	}
	if _, err := pods.GetLogs("p", &corev1.PodLogOptions{Previous: true}).DoRaw(t.Context()); !apierrors.IsBadRequest(err) {
		t.Errorf("want an error about a previous container, got %v", err)
	}
}

// A client that follows a log gets its end when the container ends.
func TestLogsAreFollowed(t *testing.T) {
	t.Parallel()
	srv := startedPod(t, map[string]string{"miniapi.dev/logs": "one"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream := must(srv.Client().CoreV1().Pods("default").GetLogs("p", &corev1.PodLogOptions{Follow: true}).Stream(ctx))(t)
	defer stream.Close()
	line := make([]byte, 4)
	if n, err := stream.Read(line); string(line[:n]) != "one\n" {
		t.Fatalf("want the log, got %q and %v", line[:n], err)
	}
	ok(t, srv.Pods().Fail("default/p", "OOMKilled"))
	if _, err := stream.Read(line); err == nil || ctx.Err() != nil {
		t.Errorf("want the end of the log, got %v", err)
	}
}

// The output and the exit code of commands are in annotations. Without them, a command fails, and says why.
func TestCommandsInPods(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		annotations  map[string]string
		out, err     string
		code         int
	}{
		{"output", "the annotation has it", map[string]string{"miniapi.dev/exec": "hello"}, "hello", "", 0},
		{"container", "the annotation for the container counts", map[string]string{"miniapi.dev/exec": "all", "miniapi.dev/exec.c": "c"}, "c", "", 0},
		{"code", "the annotation has it", map[string]string{"miniapi.dev/exec-code": "3"}, "", "", 3},
		{"none", "nothing says what a command does", nil, "", "only pretends to run", 126},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv := startedPod(t, test.annotations)
			url := srv.Client().CoreV1().RESTClient().Post().Namespace("default").Resource("pods").Name("p").SubResource("exec").
				VersionedParams(&corev1.PodExecOptions{Command: []string{"ls"}, Stdout: true, Stderr: true}, scheme.ParameterCodec).URL()
			for _, newExecutor := range map[string]func() (remotecommand.Executor, error){
				"spdy": func() (remotecommand.Executor, error) {
					return remotecommand.NewSPDYExecutor(srv.Config(), "POST", url)
				},
				"websocket": func() (remotecommand.Executor, error) {
					return remotecommand.NewWebSocketExecutor(srv.Config(), "GET", url.String())
				},
			} {
				var stdout, stderr strings.Builder
				err := must(newExecutor())(t).StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: &stdout, Stderr: &stderr})
				code := 0
				if exited := (exec.CodeExitError{}); errors.As(err, &exited) {
					code, err = exited.Code, nil
				}
				if err != nil || stdout.String() != test.out || !strings.Contains(stderr.String(), test.err) || code != test.code {
					t.Errorf("%s: want %q, %q and %d, got %q, %q, %d and %v", test.reason, test.out, test.err, test.code, stdout.String(), stderr.String(), code, err)
				}
			}
		})
	}
}

// kwok's objects in the file of the stages say what pods answer that have no annotations.
func TestAnswersOfKwok(t *testing.T) {
	t.Parallel()
	listener := must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "hello")
			_ = conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	log := filepath.Join(t.TempDir(), "log")
	ok(t, os.WriteFile(log, []byte("2020-01-01T00:00:00Z stdout F old\n2021-01-01T00:00:00Z stdout F new\n"), 0o600))
	file := filepath.Join(t.TempDir(), "answers.yaml")
	ok(t, os.WriteFile(file, fmt.Appendf(nil, `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterLogs
metadata: {name: all}
spec: {logs: [{logsFile: %s}]}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: PortForward
metadata: {name: p, namespace: default}
spec: {forwards: [{ports: [80], target: {address: 127.0.0.1, port: %s}}]}
`, log, port), 0o600))
	srv := startedPod(t, nil, miniapitest.WithStages(file))
	pods := srv.Client().CoreV1().Pods("default")
	since := metav1.NewTime(time.Date(2020, 6, 1, 0, 0, 0, 0, time.UTC))
	got := must(pods.GetLogs("p", &corev1.PodLogOptions{SinceTime: &since, Timestamps: true}).DoRaw(t.Context()))(t)
	if want := "2021-01-01T00:00:00Z new\n"; string(got) != want {
		t.Errorf("want the lines of the file since %v, %q, got %q", since, want, got)
	}

	transport, upgrader, err := spdy.RoundTripperFor(srv.Config())
	ok(t, err)
	url := srv.Client().CoreV1().RESTClient().Post().Namespace("default").Resource("pods").Name("p").SubResource("portforward").URL()
	stop, ready := make(chan struct{}), make(chan struct{})
	defer close(stop)
	forwarder := must(portforward.NewOnAddresses(spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url),
		[]string{"127.0.0.1"}, []string{"0:80"}, stop, ready, io.Discard, io.Discard))(t)
	go func() { _ = forwarder.ForwardPorts() }()
	<-ready
	local := must(forwarder.GetPorts())(t)[0].Local
	conn := must((&net.Dialer{}).DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", local)))(t)
	defer conn.Close()
	if got := must(io.ReadAll(conn))(t); string(got) != "hello" {
		t.Errorf("want the answer of the target, got %q", got)
	}
}
