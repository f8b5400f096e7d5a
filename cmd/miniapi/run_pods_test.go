//go:build unix

package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	certutil "k8s.io/client-go/util/cert"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/environment"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/control"
)

// manifests of a webhook, as they would be applied to a cluster. The verbs are the base64 of the certificate and of its
// key, the program, and the port.
const runningWebhook = `
apiVersion: v1
kind: Secret
metadata: {name: cert, namespace: default}
type: kubernetes.io/tls
data: {tls.crt: %[1]s, tls.key: %[2]s}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: texts, namespace: default}
data: {message: "first "}
---
apiVersion: v1
kind: Service
metadata: {name: hook, namespace: default}
spec:
  selector: {app: hook}
  ports: [{port: 443, targetPort: webhook}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: hook, namespace: default}
spec:
  selector: {matchLabels: {app: hook}}
  template:
    metadata:
      labels: {app: hook}
      annotations: {miniapi.dev/command: '["%[3]s", "pod-program"]'}
    spec:
      securityContext: {runAsNonRoot: true, runAsUser: 65532}
      containers:
      - name: hook
        image: hook:latest
        command: [/hook]
        args: ["$(POD_IP):%[4]s", /etc/hook/certs, /etc/hook/texts/message]
        env:
        - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        - {name: MESSAGE, valueFrom: {configMapKeyRef: {name: texts, key: message}}}
        ports: [{name: webhook, containerPort: %[4]s}]
        readinessProbe: {httpGet: {scheme: HTTPS, path: /ready, port: webhook}, periodSeconds: 1, failureThreshold: 1}
        volumeMounts:
        - {name: cert, mountPath: /etc/hook/certs}
        - {name: texts, mountPath: /etc/hook/texts}
      - {name: other, image: other:latest}
      volumes:
      - {name: cert, secret: {secretName: cert}}
      - {name: texts, configMap: {name: texts}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hook}
webhooks:
- name: hook.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  objectSelector: {matchLabels: {judged: "yes"}}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]
  clientConfig: {service: {namespace: default, name: hook}, caBundle: %[1]s}
`

// A webhook's manifests work as they are: its pod runs as a process, which gets its files, is probed, restarted and
// reached, and ends with the server.
func TestRunPods(t *testing.T) {
	t.Parallel()
	certificate, key, err := certutil.GenerateSelfSignedCertKey("hook.default.svc", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	manifest := file(t, "hook.yaml", runningWebhook, base64.StdEncoding.EncodeToString(certificate), base64.StdEncoding.EncodeToString(key), binary, port)
	p, config := serve(t, "--workloads", "--run-pods", "--apply="+manifest)
	core := client(t, config).CoreV1()
	judged := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "judged", Labels: map[string]string{"judged": "yes"}}}
	eventuallyRefused := func(want string) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			_, err := core.ConfigMaps("default").Create(ctx, judged, metav1.CreateOptions{})
			switch {
			case err == nil:
				return fmt.Errorf("want an error with %q, but the object was created", want)
			case !strings.Contains(err.Error(), want):
				return fmt.Errorf("want an error with %q: %w", want, err)
			}
			return nil
		})
	}
	eventuallyRefused(`denied the request: first`)
	pods, err := core.Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("want one pod, got %v and %v", pods.Items, err)
	}
	name := pods.Items[0].Name
	logs := func(o corev1.PodLogOptions) string {
		t.Helper()
		o.Container = "hook"
		text, err := core.Pods("default").GetLogs(name, &o).DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if want, got := "user system:serviceaccount:default:default\n", logs(corev1.PodLogOptions{}); !strings.HasPrefix(got, want) {
		t.Errorf("want the log to begin with %q, got %q", want, got)
	}

	for _, step := range []struct{ message, want, reason string }{
		{"unready", "no endpoints available", "a pod that isn't ready is no endpoint"},
		{"second ", "denied the request: second", "files follow their ConfigMap, and the pod is ready again"},
	} {
		texts := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "texts"}, Data: map[string]string{"message": step.message}}
		if _, err := core.ConfigMaps("default").Update(t.Context(), texts, metav1.UpdateOptions{}); err != nil {
			t.Fatalf("%s: %v", step.reason, err)
		}
		eventuallyRefused(step.want)
	}

	for crashes := range 2 {
		_ = core.RESTClient().Get().AbsPath("/api/v1/namespaces/default/pods/https:" + name + ":" + port + "/proxy/crash").Do(t.Context()).Error() // the process doesn't answer
		eventually(t, func(ctx context.Context) error {
			pod, err := core.Pods("default").Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			status := pod.Status.ContainerStatuses[0]
			last := status.LastTerminationState.Terminated
			waits := status.State.Waiting != nil && status.State.Waiting.Reason == "CrashLoopBackOff"
			if last == nil || last.ExitCode != 3 || status.RestartCount != 1 || waits != (crashes == 1) || !waits && !status.Ready {
				return fmt.Errorf("after %d crashes, got %+v", crashes+1, status)
			}
			return nil
		})
	}
	processes := regexp.MustCompile(`processes (\d+) (\d+)`).FindStringSubmatch(logs(corev1.PodLogOptions{Previous: true}))
	if processes == nil {
		t.Fatalf("the log of the last run lacks its processes")
	}
	eventuallyGone(t, processes[1:])

	eventuallyRefused(`denied the request: second`) // after the back-off
	processes = regexp.MustCompile(`processes (\d+) (\d+)`).FindStringSubmatch(logs(corev1.PodLogOptions{}))
	p.signal(t, syscall.SIGKILL)
	p.exit(t)
	eventuallyGone(t, processes[1:])
}

// startSleeper creates a pod whose container runs until it is told to end, and returns the ID of its process.
func startSleeper(t *testing.T, core corev1client.CoreV1Interface, name string) []string {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{environment.Command: `sh -c 'echo process $$$$; exec sleep 3600'`}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	eventually(t, func(ctx context.Context) error { // the namespace gets its service account
		_, err := core.Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	return processOf(t, core, name)
}

// processOf returns the ID of the process of a pod that startSleeper has created.
func processOf(t *testing.T, core corev1client.CoreV1Interface, name string) []string {
	t.Helper()
	var id []string
	eventually(t, func(ctx context.Context) error {
		text, err := core.Pods("default").GetLogs(name, &corev1.PodLogOptions{}).DoRaw(ctx)
		if id = regexp.MustCompile(`process (\d+)`).FindStringSubmatch(string(text)); err == nil && id == nil {
			err = fmt.Errorf("the log is %q", text)
		}
		return err
	})
	return id[1:]
}

// The processes of the pods of a test end with its server and with the test process.
func TestPodsOfTestsEnd(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		end          func(t *testing.T, h *hostProcess, server string)
	}{
		{"stop", "the server is stopped", func(t *testing.T, h *hostProcess, server string) { h.post(t, "DELETE", server, nil) }},
		{"reset", "the pod didn't exist at the start", func(t *testing.T, h *hostProcess, server string) { h.post(t, "POST", server+"/reset", nil) }},
		{"end of the test process", "the input of the host ends", func(t *testing.T, h *hostProcess, _ string) {
			if err := h.input.Close(); err != nil {
				t.Error(err)
			}
		}},
		{"end of the host", "the host is killed", func(t *testing.T, h *hostProcess, _ string) { h.signal(t, syscall.SIGKILL) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := startHost(t)
			server := do[control.Server](t, h, "POST", "/v1/servers", runningPods())
			process := startSleeper(t, clientOf(t, server.Kubeconfig).CoreV1(), "p")
			test.end(t, h, "/v1/servers/"+server.ID)
			eventuallyGone(t, process)
		})
	}
}

func runningPods() control.Options {
	o := control.Options{Setup: &control.Setup{}}
	o.Workloads = &engine.Workloads{RunPods: true}
	return o
}

// A pod that ran when a snapshot was taken keeps its process when the snapshot is restored, unless the pod has ended since.
// The others end.
func TestRestoreOfRunningPods(t *testing.T) {
	t.Parallel()
	h := startHost(t)
	server := do[control.Server](t, h, "POST", "/v1/servers", runningPods())
	path, core := "/v1/servers/"+server.ID, clientOf(t, server.Kubeconfig).CoreV1()
	kept, deleted := startSleeper(t, core, "kept"), startSleeper(t, core, "deleted")
	for _, name := range []string{"kept", "deleted"} {
		eventually(t, func(ctx context.Context) error {
			pod, err := core.Pods("default").Get(ctx, name, metav1.GetOptions{})
			if err == nil && pod.Status.PodIP == "" {
				err = fmt.Errorf("pod %s has no address yet", name)
			}
			return err
		})
	}
	snapshot := do[control.Snapshot](t, h, "POST", path+"/snapshots", nil)
	if err := core.Pods("default").Delete(t.Context(), "deleted", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Fatal(err)
	}
	eventuallyGone(t, deleted)
	later := startSleeper(t, core, "later")
	h.post(t, "POST", path+"/snapshots/"+snapshot.ID+"/restore", nil)
	eventuallyGone(t, later)
	if again := processOf(t, core, "kept"); !slices.Equal(again, kept) {
		t.Errorf("want the process %s, got %s", kept, again)
	}
	if again := processOf(t, core, "deleted"); slices.Equal(again, deleted) {
		t.Errorf("want another process than %s", deleted)
	}
}

// Of several servers on one etcd, the one that has the Lease runs the pods. When it loses the Lease, its processes end, and
// start again when it gets it back.
func TestRunPodsFollowTheLease(t *testing.T) {
	t.Parallel()
	_, config := serve(t, "--workloads", "--run-pods", "--etcd-servers="+startEtcd(t))
	typed := client(t, config)
	first := startSleeper(t, typed.CoreV1(), "p")
	leases := typed.CoordinationV1().Leases(metav1.NamespaceSystem)
	if _, err := leases.Patch(t.Context(), "kube-controller-manager", types.MergePatchType, []byte(`{"spec":{"holderIdentity":"other","leaseDurationSeconds":3600}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventuallyGone(t, first)
	if err := leases.Delete(t.Context(), "kube-controller-manager", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if again := processOf(t, typed.CoreV1(), "p"); slices.Equal(again, first) {
		t.Errorf("want another process than %s", first)
	}
}

// eventuallyGone waits until processes have ended.
func eventuallyGone(t *testing.T, ids []string) {
	t.Helper()
	for _, id := range ids {
		pid, err := strconv.Atoi(id)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, func(context.Context) error {
			state, err := os.ReadFile("/proc/" + id + "/stat")
			zombie := err == nil && strings.Contains(string(state), ") Z ")
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) && !zombie {
				return fmt.Errorf("process %s still runs", id)
			}
			return nil
		})
	}
}

// eventually waits until check returns no error.
func eventually(t *testing.T, check func(context.Context) error) {
	t.Helper()
	var last error
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, deadline, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	}); err != nil {
		t.Fatal(errors.Join(last, err))
	}
}
