package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/control"
)

// hostProcess is a running "miniapi host".
type hostProcess struct {
	*process
	input  io.WriteCloser
	hello  control.Hello
	client *control.Client
}

func startHost(t *testing.T, args ...string) *hostProcess {
	t.Helper()
	cmd := exec.Command(filepath.Join(programs, "miniapi"), append([]string{"host"}, args...)...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	h := &hostProcess{process: startCommand(t, cmd), input: input}
	t.Cleanup(func() { _ = input.Close() })
	select {
	case line := <-h.lines:
		if err := json.Unmarshal([]byte(line), &h.hello); err != nil {
			t.Fatalf("the first line is %q: %v", line, err)
		}
	case <-time.After(deadline):
		t.Fatal("the host has written no line")
	}
	if h.client, err = control.NewClient(h.hello); err != nil {
		t.Fatal(err)
	}
	return h
}

// do makes a request, which must succeed.
func do[T any](t *testing.T, h *hostProcess, method, path string, request any) T {
	t.Helper()
	var response T
	if err := h.client.Do(t.Context(), method, path, request, &response); err != nil {
		t.Fatal(err)
	}
	return response
}

// post makes a request without an answer, which must succeed.
func (h *hostProcess) post(t *testing.T, method, path string, request any) {
	t.Helper()
	if err := h.client.Do(t.Context(), method, path, request, nil); err != nil {
		t.Fatal(err)
	}
}

// clientOf returns a client with the kubeconfig of a server.
func clientOf(t *testing.T, path string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// clientOfUser adds a user to the server at a path, and returns a client of the user.
func (h *hostProcess) clientOfUser(t *testing.T, path string, user control.User) kubernetes.Interface {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	certificate := do[control.Certificate](t, h, "POST", path+"/users", user)
	if err := os.WriteFile(file, []byte(certificate.Kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	return clientOf(t, file)
}

const denyingConfiguration = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: deny}
webhooks:
- name: deny.example.com
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  clientConfig: {service: {namespace: system, name: hook, path: /validate}}
  sideEffects: None
  admissionReviewVersions: [v1]
`

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: default}\n"

// onlyGood is a webhook that refuses all objects but those with the name "good".
func onlyGood(w http.ResponseWriter, r *http.Request) {
	review := admissionv1.AdmissionReview{}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{
		UID: review.Request.UID, Allowed: review.Request.Name == "good", Result: &metav1.Status{Message: "not " + review.Request.Name},
	}
	_ = json.NewEncoder(w).Encode(review)
}

// A client in another language starts a server with a webhook of its own, which is a plain HTTP server.
func TestHost(t *testing.T) {
	t.Parallel()
	h := startHost(t)
	handler := httptest.NewServer(http.HandlerFunc(onlyGood))
	t.Cleanup(handler.Close)
	manifest := filepath.Join(t.TempDir(), "webhook.yaml")
	if err := os.WriteFile(manifest, []byte(denyingConfiguration), 0o600); err != nil {
		t.Fatal(err)
	}
	o := control.Options{Setup: &control.Setup{
		WebhookManifests: []string{manifest}, Handler: &control.Handler{Address: handler.URL}, Trace: true,
		Objects: []json.RawMessage{json.RawMessage(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"given"}}`)},
		Users:   []control.User{{Name: "exempt", Groups: []string{"system:masters", "unreviewed"}}},
	}}
	o.ExemptGroup = "unreviewed"
	s := do[control.Server](t, h, "POST", "/v1/servers", o)
	path, client := "/v1/servers/"+s.ID, clientOf(t, s.Kubeconfig)
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "given", metav1.GetOptions{}); err != nil {
		t.Errorf("want the object of setup, got %v", err)
	}
	exempt := h.clientOfUser(t, path, control.User{Name: "exempt", Groups: []string{"system:masters", "unreviewed"}})
	if _, err := exempt.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "unreviewed"}}, metav1.CreateOptions{}); err != nil {
		t.Errorf("want no review for the exempt group, got %v", err)
	}
	golden := t.TempDir()
	h.post(t, "PUT", path+"/recording", control.Recording{Folder: golden})
	err := h.client.Do(t.Context(), "POST", path+"/manifests", control.Manifests{Text: fmt.Sprintf(configMap, "bad")}, nil)
	if err == nil || !strings.Contains(err.Error(), `admission webhook "deny.example.com" denied the request: not bad`) {
		t.Errorf("want the refusal of the handler, got %v", err)
	}
	if files, err := os.ReadDir(golden); err != nil || len(files) != 1 {
		t.Errorf("want one recorded review, got %v, error %v", files, err)
	}
	why := do[struct {
		Answers []struct{ Sentence string }
	}](t, h, "GET", path+"/why?webhook=ValidatingWebhookConfiguration/deny&resource=configmaps&namespace=default&name=bad", nil)
	if len(why.Answers) != 1 || !strings.Contains(why.Answers[0].Sentence, "deny.example.com was called for CREATE of configmaps default/bad") {
		t.Errorf("want the reason of the call, got %+v", why)
	}
	h.post(t, "POST", path+"/reset", nil)
	why = do[struct {
		Answers []struct{ Sentence string }
	}](t, h, "GET", path+"/why?webhook=ValidatingWebhookConfiguration/deny&resource=configmaps&namespace=default&name=bad", nil)
	if len(why.Answers) != 1 || !strings.Contains(why.Answers[0].Sentence, "no request for the object is recorded") {
		t.Errorf("want no answer about a request before the reset, got %+v", why)
	}
	if applied := do[control.Applied](t, h, "POST", path+"/manifests", control.Manifests{Text: fmt.Sprintf(configMap, "good")}); applied.Objects != 1 {
		t.Errorf("want one applied object, got %+v", applied)
	}
	snapshot := do[control.Snapshot](t, h, "POST", path+"/snapshots", nil)
	h.post(t, "POST", path+"/reset", nil)
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "good", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("want the object to be gone after the reset, got %v", err)
	}
	h.post(t, "POST", path+"/snapshots/"+snapshot.ID+"/restore", nil)
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "good", metav1.GetOptions{}); err != nil {
		t.Errorf("want the object of the snapshot, got %v", err)
	}
	h.post(t, "DELETE", path+"/snapshots/"+snapshot.ID, nil)
	if err := h.client.Do(t.Context(), "POST", path+"/snapshots/"+snapshot.ID+"/restore", nil, nil); err == nil {
		t.Error("want an error for a dropped snapshot")
	}

	h.post(t, "POST", path+"/faults", map[string]any{"faults": []map[string]any{{"name": "busy", "verbs": []string{"get"}, "resources": []string{"configmaps"}, "status": 503}}})
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "good", metav1.GetOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("want the injected error, got %v", err)
	}
	h.post(t, "DELETE", path+"/faults/busy", nil)

	alice := h.clientOfUser(t, path, control.User{Name: "alice", Groups: []string{"dev"}})
	if _, err := alice.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "alice"`) {
		t.Errorf("want a refusal for alice, got %v", err)
	}
	if all := do[control.Servers](t, h, "GET", "/v1/servers", nil); len(all.Servers) != 1 || all.Servers[0].ID != s.ID {
		t.Errorf("want the server in the list, got %+v", all)
	}
	h.post(t, "DELETE", path, nil)
	if _, err := os.Stat(s.Kubeconfig); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("want no kubeconfig after the stop, got %v", err)
	}
}

// A request waits until its audit event is acknowledged. When the client that reads the events goes, nothing waits.
func TestHostAudit(t *testing.T) {
	t.Parallel()
	h := startHost(t)
	policy := json.RawMessage(`{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[{"level":"Metadata","userGroups":["system:masters"],"resources":[{"resources":["secrets"]}]},{"level":"None"}]}`)
	o := control.Options{Setup: &control.Setup{}}
	o.Audit, o.AuditPolicy = true, policy
	s := do[control.Server](t, h, "POST", "/v1/servers?wait=configured", o)
	ctx, leave := context.WithCancel(t.Context())
	events := make(chan control.Event, 10000)
	left := make(chan struct{})
	go func() {
		defer close(left)
		_ = h.client.Events(ctx, s.ID, func(e control.Event) { events <- e })
	}()
	s = do[control.Server](t, h, "GET", "/v1/servers/"+s.ID, nil)
	client := clientOf(t, s.Kubeconfig)
	list := func() chan error {
		done := make(chan error, 1)
		go func() {
			_, err := client.CoreV1().Secrets("default").List(context.Background(), metav1.ListOptions{})
			done <- err
		}()
		return done
	}
	first := list()
	audited := control.Event{}
	for audited.Audit == nil {
		select {
		case audited = <-events:
		case <-time.After(deadline):
			t.Fatal("no audit event has come")
		}
	}
	event := auditv1.Event{}
	if err := json.Unmarshal(audited.Audit, &event); err != nil || event.ObjectRef.Resource != "secrets" {
		t.Errorf("want the event of the list, got %s, error %v", audited.Audit, err)
	}
	if err := h.client.Do(t.Context(), "GET", "/v1/servers/"+s.ID+"/events", nil, nil); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("want an error for a second reader, got %v", err)
	}
	h.post(t, "DELETE", fmt.Sprintf("/v1/servers/%s/audit/%d", s.ID, audited.Number), nil)
	if err := <-first; err != nil {
		t.Error(err)
	}
	second := list()
	leave()
	<-left
	if err := <-second; err != nil {
		t.Errorf("want the request to continue when the reader has gone, got %v", err)
	}
	h.post(t, "DELETE", "/v1/servers/"+s.ID, nil)
}

// A bad request is refused with an error that names the field.
func TestHostErrors(t *testing.T) {
	t.Parallel()
	h := startHost(t)
	bare := do[control.Server](t, h, "POST", "/v1/servers", nil)
	for _, test := range []struct{ name, reason, method, path, body, want string }{
		{"field", "an unknown field would have no effect", "POST", "/v1/servers", `{"gates":{}}`, `unknown field "gates"`},
		{"syntax", "the body isn't JSON", "POST", "/v1/servers", `{`, "the body of POST /v1/servers"},
		{"flag", "a flag is unknown", "POST", "/v1/servers", `{"setup":{},"flags":["--bogus"]}`, "flags: unknown flag: --bogus"},
		{"own flag", "a field of the protocol does the same", "POST", "/v1/servers", `{"setup":{},"flags":["--data-dir=x"]}`, "use dataDir"},
		{"file", "a file is missing", "POST", "/v1/servers", `{"setup":{"crds":["none.yaml"]}}`, "setup.crds: stat"},
		{"handler", "the address must be on this machine", "POST", "/v1/servers", `{"setup":{"handler":{"address":"http://192.0.2.1:80"}}}`, `setup.handler.address "http://192.0.2.1:80": the host must be localhost or a loopback address`},
		{"handler scheme", "the host serves HTTPS itself", "POST", "/v1/servers", `{"setup":{"handler":{"address":"127.0.0.1:80"}}}`, `setup.handler.address "127.0.0.1:80": must be http://HOST:PORT`},
		{"audit", "nobody could acknowledge the events of the start", "POST", "/v1/servers", `{"audit":true}`, "wait=configured"},
		{"wait", "the value is unknown", "POST", "/v1/servers?wait=soon", `{}`, "wait=soon: must be ready or configured"},
		{"setup", "setup installs definitions itself", "POST", "/v1/servers", `{"setup":{},"kept":"x"}`, "kept: must be left out with setup"},
		{"services", "the address of a service", "POST", "/v1/servers", `{"setup":{},"services":[{"namespace":"a","name":"b","address":"nowhere"}]}`, "webhook-service"},
		{"definition", "the object was not sent before", "POST", "/v1/servers", `{"definitions":[{"sha256":"00"}]}`, "definitions[0]"},
		{"server", "there is no such server", "GET", "/v1/servers/none", ``, `the host has no server "none"`},
		{"operation", "there is no such operation", "GET", "/v2", ``, "there is no such operation"},
		{"method", "the path has other operations", "TRACE", "/v1/servers", ``, "there is no such operation"},
		{"hash", "the hash isn't that of the object", "PUT", "/v1/objects/00", `{}`, "the sha256 of the body is"},
		{"bare", "a server without setup has nothing to go back to", "POST", "/v1/servers/" + bare.ID + "/reset", ``, "started without setup"},
		{"user", "a certificate without a name would be nobody's", "POST", "/v1/servers/" + bare.ID + "/users", `{"groups":["a"]}`, "name: a user must have a name"},
		{"folder", "the files would be in the host's own folder", "PUT", "/v1/servers/" + bare.ID + "/recording", `{}`, "folder: must be the path"},
		{"address", "the certificate is for an address", "POST", "/v1/servers/" + bare.ID + "/certificates", `{"ips":["localhost"]}`, `ips[0]: "localhost" must be an IP address`},
		{"manifest", "the text isn't a manifest", "POST", "/v1/servers/" + bare.ID + "/manifests", `{"text":"a: 1"}`, "text"},
		{"fault", "the API server refuses the fault", "POST", "/v1/servers/" + bare.ID + "/faults", `{"faults":[{"verbs":["get"]}]}`, "fault"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			request, err := http.NewRequestWithContext(t.Context(), test.method, h.hello.Address+test.path, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+h.hello.Token)
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			body, _ := io.ReadAll(answer.Body)
			refused := control.Error{}
			if err := json.Unmarshal(body, &refused); err != nil || answer.StatusCode < 400 || !strings.Contains(refused.Message, test.want) {
				t.Errorf("because %s, want an error with %q, got %s: %s", test.reason, test.want, answer.Status, body)
			}
		})
	}
	if all := do[control.Servers](t, h, "GET", "/v1/servers", nil); len(all.Servers) != 1 {
		t.Errorf("want no server of a failed start, got %+v", all)
	}
}

// Without the token, a request is refused.
func TestHostToken(t *testing.T) {
	t.Parallel()
	h := startHost(t)
	for _, token := range []string{"", "Bearer ", "Bearer wrong", h.hello.Token} {
		request, err := http.NewRequestWithContext(t.Context(), "GET", h.hello.Address+"/v1", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", token)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("want status 401 with the header %q, got %s", token, answer.Status)
		}
	}
}

// A host ends with its client, and leaves nothing.
func TestHostEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		args         []string
		end          func(*testing.T, *hostProcess)
	}{
		{"input", "the end of the client closes the input", nil, func(_ *testing.T, h *hostProcess) { _ = h.input.Close() }},
		{"signal", "an operator ends the process", nil, func(t *testing.T, h *hostProcess) { h.signal(t, syscall.SIGTERM) }},
		{"lease", "the client makes no request any more", []string{"--lease=3s"}, func(_ *testing.T, h *hostProcess) { _ = h.input.Close() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := startHost(t, test.args...)
			s := do[control.Server](t, h, "POST", "/v1/servers", control.Options{Setup: &control.Setup{}})
			test.end(t, h)
			if code, _, stderr := h.exit(t); code != 0 {
				t.Errorf("because %s, want the code 0, got %d: %s", test.reason, code, stderr)
			}
			if _, err := os.Stat(filepath.Dir(s.Kubeconfig)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("want no folder after the end, got %v", err)
			}
			if conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "https://")); err == nil {
				_ = conn.Close()
				t.Error("want no server after the end")
			}
		})
	}
}

// With a lease, the process lives as long as a client follows events, and its socket is a file of the user's.
func TestHostSocket(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "host")
	h := startHost(t, "--socket="+socket, "--lease=3s")
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("want a socket for its owner alone, got %v, error %v", info, err)
	}
	s := do[control.Server](t, h, "POST", "/v1/servers", control.Options{Setup: &control.Setup{}})
	ctx, leave := context.WithCancel(t.Context())
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		_ = h.client.Events(ctx, s.ID, func(control.Event) {})
	}()
	begun := time.Now()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, deadline, true, func(ctx context.Context) (bool, error) {
		return time.Since(begun) > 4*time.Second, restHealthy(ctx, s)
	}); err != nil {
		t.Errorf("want the server to run while a client follows its events, got %v", err)
	}
	leave()
	<-followed
	if code, _, stderr := h.exit(t); code != 0 {
		t.Errorf("want the code 0 at the end of the lease, got %d: %s", code, stderr)
	}
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("want no socket after the end, got %v", err)
	}
}

// restHealthy reports whether a server is ready.
func restHealthy(ctx context.Context, s control.Server) error {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(s.CA), CertData: []byte(s.Cert), KeyData: []byte(s.Key)}})
	if err != nil {
		return err
	}
	return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// The document that the host serves describes each operation.
func TestHostOpenAPI(t *testing.T) {
	t.Parallel()
	h := startHost(t)
	document := do[struct {
		Paths map[string]map[string]any
	}](t, h, "GET", "/v1/openapi.json", nil)
	for _, operation := range control.Operations {
		if document.Paths[operation.Path][strings.ToLower(operation.Method)] == nil {
			t.Errorf("want %s in the document", operation.Pattern())
		}
		path := strings.NewReplacer("{id}", "none", "{sha256}", "00", "{number}", "1", "{snapshot}", "1", "{fault}", "f").Replace(operation.Path)
		err := h.client.Do(t.Context(), operation.Method, path, nil, nil)
		if err != nil && strings.Contains(err.Error(), "no such operation") {
			t.Errorf("want an answer to %s, got %v", operation.Pattern(), err)
		}
	}
}
