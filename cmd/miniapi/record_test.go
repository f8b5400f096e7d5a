package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/reviews"
)

// labelling returns a webhook that replaces the labels of an object by the label team with the value.
func labelling(t testing.TB, value string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		review := admissionv1.AdmissionReview{}
		if err := json.Unmarshal(bodyOf(t, req), &review); err != nil {
			t.Error(err)
		}
		patchType := admissionv1.PatchTypeJSONPatch
		review.Response = &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Allowed: true, PatchType: &patchType,
			Patch: []byte(fmt.Sprintf(`[{"op":"add","path":"/metadata/labels","value":{"team":%q}}]`, value)),
		}
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	})
}

// serveLabelled starts a server with a webhook that gives new ConfigMaps and Secrets the label team=blue.
func serveLabelled(t *testing.T) (*process, kubernetes.Interface) {
	t.Helper()
	webhook := httptest.NewTLSServer(labelling(t, "blue"))
	t.Cleanup(webhook.Close)
	p, config := serve(t)
	c := client(t, config)
	url, none := webhook.URL+"/label", admissionregistrationv1.SideEffectClassNone
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw})
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "labels"}, Webhooks: []admissionregistrationv1.MutatingWebhook{{
		Name: "labels.example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
				Resources: []string{"configmaps", "secrets"}},
		}},
		SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
	}}}
	if _, err := c.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), configuration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return p, c
}

// recordOnce starts a server, and records the reviews of the creations of two objects.
func recordOnce(t *testing.T, dir string) {
	t.Helper()
	p, c := serveLabelled(t)
	recorder := start(t, "miniapi", "record", dir, "--kubeconfig="+p.kubeconfig(t))
	recorder.awaitLine(t, "recording into")
	if _, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "made-"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	recorder.awaitLine(t, "made-")
	if _, err := c.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"}, StringData: map[string]string{"password": "sesame"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	recorder.awaitLine(t, "secrets")
	recorder.signal(t, syscall.SIGINT)
	if code, _, stderr := recorder.exit(t); code != 0 || stderr != "Warning: secret values are (redacted) in the files: a server with --trace-secrets keeps them\n" {
		t.Errorf("want exit code 0 and a warning about the Secret, got %d and %q", code, stderr)
	}
}

// awaitLine reads lines of standard output until one of them contains the text.
func (p *process) awaitLine(t *testing.T, text string) {
	t.Helper()
	timeout := time.After(deadline)
	for {
		select {
		case line, running := <-p.lines:
			if !running {
				<-p.done
				t.Fatalf("%s ended without a line with %q: %s", p.cmd, text, p.stderr.String())
			}
			if strings.Contains(line, text) {
				return
			}
		case <-timeout:
			t.Fatalf("%s printed no line with %q", p.cmd, text)
		}
	}
}

// contents returns the contents of the recorded files in a folder, by the names of the files.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	files, err := reviews.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		content, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name] = string(content)
	}
	return all
}

// Two recordings of the same requests are equal, and have no secrets. A replay against the same webhook without a
// server gets the recorded responses.
func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	first, second := t.TempDir(), t.TempDir()
	recordOnce(t, first)
	recordOnce(t, second)
	recorded := contents(t, first)
	if diff := cmp.Diff(recorded, contents(t, second)); diff != "" {
		t.Errorf("another recording (-first +second):\n%s", diff)
	}
	for _, name := range []string{"create-configmaps-default-made-", "create-secrets-default-key"} {
		matches, err := filepath.Glob(filepath.Join(first, "MutatingWebhookConfiguration", "labels", "labels.example.com", name+"*.json"))
		if err != nil || len(matches) != 1 {
			t.Errorf("want a file %s*.json in labels/labels.example.com, got %v, %v", name, recorded, err)
		}
	}
	for name, content := range recorded {
		if strings.Contains(content, "c2VzYW1l") || strings.Contains(content, "sesame") {
			t.Errorf("%s has the password:\n%s", name, content)
		}
	}
	same, other := httptest.NewServer(labelling(t, "blue")), httptest.NewServer(labelling(t, "red"))
	defer same.Close()
	defer other.Close()
	if got := runMiniapi(t, "replay", first, "--url", same.URL); strings.Count(got, ": same") != 2 {
		t.Errorf("want no difference, got:\n%s", got)
	}
	if got := runMiniapi(t, "replay", first, "--url", same.URL, "-o", "yaml"); strings.Count(got, "result: same") != 2 {
		t.Errorf("want both responses to be the same in YAML, got %s", got)
	}
	code, stdout, stderr := start(t, "miniapi", "replay", first, "--url", other.URL).exit(t)
	if code != 1 || !strings.Contains(stderr, "2 of 2 responses are different") || !strings.Contains(stdout, `"red"`) {
		t.Errorf("want exit code 1 and the difference, got %d, %q and:\n%s", code, stderr, stdout)
	}
	if got := runMiniapi(t, "replay", first, "--url", other.URL, "--update"); strings.Count(got, ": updated") != 2 {
		t.Errorf("want updated files, got:\n%s", got)
	}
	runMiniapi(t, "replay", first, "--url", other.URL)
}

// A folder that can't be written is refused at the start. A write that fails later ends the command with the error.
func TestRecordFailures(t *testing.T) {
	t.Parallel()
	p, c := serveLabelled(t)
	notFolder := file(t, "file", "")
	code, stdout, stderr := start(t, "miniapi", "record", notFolder, "--kubeconfig="+p.kubeconfig(t)).exit(t)
	if want := fmt.Sprintf("Error: folder for reviews %q: must be a folder in which files can be made", notFolder); code != 1 || stdout != "" || !strings.HasPrefix(stderr, want) {
		t.Errorf("want exit code 1 and %q before the first review, got %d, %q and %q", want, code, stdout, stderr)
	}
	dir := filepath.Join(t.TempDir(), "reviews")
	recorder := start(t, "miniapi", "record", dir, "--kubeconfig="+p.kubeconfig(t))
	recorder.awaitLine(t, "recording into")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // in the place of the folder
		t.Fatal(err)
	}
	if _, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "lost"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const want = "Error: recording the review of MutatingWebhookConfiguration/labels/labels.example.com for CREATE of configmaps default/lost"
	if code, _, stderr := recorder.exit(t); code != 1 || !strings.HasPrefix(stderr, want) || !strings.Contains(stderr, dir) {
		t.Errorf("want exit code 1 and %q with the folder, got %d and %q", want, code, stderr)
	}
}

func TestReplayFailures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no URL", []string{"."}, 2, "--url must name the webhook, as in https://localhost:9443/mutate"},
		{"no folder", nil, 2, "takes one argument, the folder of the recording"},
		{"empty folder", []string{t.TempDir(), "--url=http://127.0.0.1:1"}, 1, "must have files with the ending .json"},
		{"no authority", []string{".", "--url=https://127.0.0.1:1", "--ca", file(t, "ca", "none")}, 2, "must have certificates in PEM"},
	} {
		code, _, stderr := start(t, "miniapi", append([]string{"replay"}, test.args...)...).exit(t)
		if code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: want exit code %d and %q, got %d and %q", test.name, test.code, test.want, code, stderr)
		}
	}
}

// A recording that lacks requests ends with an error. The error has the number of the missing requests, and the flags
// of the server that prevent the loss.
func TestRecordFailsIfRequestsAreMissing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, stream string
		code                 int
		want                 []string
	}{
		{"none", "the recording is complete", "", 0, nil},
		{"forgotten", "the server forgot requests",
			`{"missed":3}` + "\n" + `{"missed":2,"request":{"id":6,"verb":"create","resource":"pods","admissions":[]}}`,
			1,
			[]string{"Warning: the server forgot 3 requests", "the server forgot 5 requests before they could be recorded", "--trace-requests and --trace-bytes"}},
		{"too large", "the server kept a request without its reviews",
			`{"request":{"id":1,"verb":"create","resource":"pods","name":"web","stripped":true,"admissions":[]}}`, 1,
			[]string{"Warning: CREATE of pods web", "the reviews of 1 requests were too large for the server to keep", "a larger --trace-bytes"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintln(w, test.stream)
			}))
			t.Cleanup(server.Close)
			code, _, stderr := start(t, "miniapi", "record", t.TempDir(), "--kubeconfig="+plainKubeconfig(t, server.URL)).exit(t)
			if code != test.code {
				t.Errorf("%s: want exit code %d, got %d and %q", test.reason, test.code, code, stderr)
			}
			for _, want := range test.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("%s: want %q, got %q", test.reason, want, stderr)
				}
			}
		})
	}
}
