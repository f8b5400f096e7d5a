package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/environment"
)

// session runs a session with a container of the pod "p" until its end, and returns its output.
func session(t *testing.T, config *rest.Config, subresource string, options runtime.Object, streams remotecommand.StreamOptions) (string, error) {
	t.Helper()
	url := client(t, config).CoreV1().RESTClient().Post().Namespace("default").Resource("pods").Name("p").SubResource(subresource).
		VersionedParams(options, scheme.ParameterCodec).URL()
	executor, err := remotecommand.NewWebSocketExecutor(config, "GET", url.String())
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	streams.Stdout = &out
	err = executor.StreamWithContext(t.Context(), streams)
	return out.String(), err
}

// createPod creates the pod "p", whose container runs a command, and waits until it runs.
func createPod(t *testing.T, core corev1client.CoreV1Interface, command string, container corev1.Container, volumes ...corev1.Volume) {
	t.Helper()
	container.Name, container.Image = "c", "i"
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{environment.Command: command}},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{container}, Volumes: volumes},
	}
	eventually(t, func(ctx context.Context) error { // the namespace gets its service account
		_, err := core.Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	eventuallyInPhase(t, core, corev1.PodRunning)
}

// eventuallyInPhase waits until the pod "p" is in a phase.
func eventuallyInPhase(t *testing.T, core corev1client.CoreV1Interface, want corev1.PodPhase) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		pod, err := core.Pods("default").Get(ctx, "p", metav1.GetOptions{})
		if err == nil && pod.Status.Phase != want {
			err = fmt.Errorf("want the pod %s, got %+v", want, pod.Status)
		}
		return err
	})
}

// A client that attaches to a container writes its input, and gets its output as it comes.
func TestAttachToRunningPods(t *testing.T) {
	t.Parallel()
	_, config := serve(t, "--workloads", "--run-pods")
	core := client(t, config).CoreV1()
	createPod(t, core, "cat", corev1.Container{Stdin: true, StdinOnce: true})
	out, err := session(t, config, "attach", &corev1.PodAttachOptions{Stdin: true, Stdout: true}, remotecommand.StreamOptions{Stdin: strings.NewReader("no end of the line")})
	if err != nil || out != "no end of the line" {
		t.Errorf("want the input, got %q and %v", out, err)
	}
	eventuallyInPhase(t, core, corev1.PodSucceeded) // the input of the process has ended with that of the client
}

// sizes are the sizes of a client's terminal.
type sizes []remotecommand.TerminalSize

// Next implements remotecommand.TerminalSizeQueue.
func (s *sizes) Next() *remotecommand.TerminalSize {
	if len(*s) == 0 {
		return nil
	}
	first := (*s)[0]
	*s = (*s)[1:]
	return &first
}

// A command beside the process of a container sees what the process sees, and has a terminal if the client has one.
func TestCommandsInRunningPods(t *testing.T) {
	t.Parallel()
	_, config := serve(t, "--workloads", "--run-pods")
	core := client(t, config).CoreV1()
	web := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.7", Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := core.Services("default").Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	shared := filepath.Join(t.TempDir(), "shared")
	createPod(t, core, "sleep 3600", corev1.Container{
		Env:          []corev1.EnvVar{{Name: "NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
		VolumeMounts: []corev1.VolumeMount{{Name: "shared", MountPath: "/data", SubPathExpr: "of-$(NAME)"}},
	}, corev1.Volume{Name: "shared", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: shared, Type: new(corev1.HostPathDirectoryOrCreate)}}})
	for _, test := range []struct {
		name, reason, script, want string
		terminal                   bool
	}{
		{"terminal", "a client with a terminal has one here", `test -t 0 && until test "$(stty size)" = "40 100"; do sleep 0.1; done; echo $TERM`, "xterm\r\n", true},
		{"pipes", "a client without a terminal has none", `test -t 0 || echo none`, "none\n", false},
		{"services", "the variables have the addresses of Services", `echo $WEB_PORT ${KUBERNETES_SERVICE_HOST%%.*}`, "tcp://10.0.0.7:80 127\n", false},
		{"read-only volume", "no mount of the account can be written", `grep serviceaccount /proc/self/mountinfo | grep -vc ' ro,'; true`, "0\n", false},
		{"volume", "a path of the machine is mounted, and the pod has a folder in it", `echo here > /data/file && cat /data/file`, "here\n", false},
	} {
		streams := remotecommand.StreamOptions{Tty: test.terminal}
		if test.terminal {
			streams.TerminalSizeQueue = &sizes{{Width: 80, Height: 24}, {Width: 100, Height: 40}}
		}
		got, err := session(t, config, "exec", &corev1.PodExecOptions{Command: []string{"sh", "-c", test.script}, Stdout: true, TTY: test.terminal}, streams)
		if err != nil || got != test.want {
			t.Errorf("%s: %s: want %q, got %q and %v", test.name, test.reason, test.want, got, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(shared, "of-p", "file")); err != nil || string(text) != "here\n" {
		t.Errorf("want the file of the pod, got %q and %v", text, err)
	}
}
