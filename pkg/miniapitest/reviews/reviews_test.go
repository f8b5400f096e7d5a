package reviews

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/reviews/internal/lines"
)

// review returns an AdmissionReview for an update of a pod's status. The values that differ from run to run depend on
// the number.
func review(run int) []byte {
	id := fmt.Sprintf("%08d-1111-4111-8111-111111111111", run)
	owner := fmt.Sprintf("%08d-2222-4222-8222-222222222222", run)
	return []byte(fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{
		"uid":%q,"operation":"UPDATE","name":"web-a%[3]dbcd","namespace":"default",
		"resource":{"group":"","version":"v1","resource":"pods"},"subResource":"status",
		"userInfo":{"username":"ann","extra":{"authentication.kubernetes.io/credential-id":["X509SHA256=%[3]d"],"example.com/kept":["1"]}},
		"object":{"apiVersion":"v1","kind":"Pod","metadata":{
			"generateName":"web-","name":"web-a%[3]dbcd","uid":%[2]q,"resourceVersion":"1%[3]d","generation":12345678901234567,
			"creationTimestamp":"2026-01-0%[3]dT00:00:00Z","managedFields":[{"manager":"m%[3]d"}],
			"annotations":{"since":"2026-01-01T00:00:00Z","owner":%[2]q}},
			"spec":{"clusterIP":"10.0.%[3]d.7","clusterIPs":["10.0.%[3]d.7","None","fd00::%[3]d"],"ports":[{"nodePort":3100%[3]d},{"nodePort":0}],"volumes":[{"name":"kube-api-access-a%[3]dbcd"}],"startTime":"2026-01-01T00:00:00Z"},
			"status":{"startTime":"2026-01-0%[3]dT00:00:00.123Z","conditions":[{"lastTransitionTime":"2026-01-0%[3]dT00:00:00+02:00"}]}},
		"oldObject":{"metadata":{"name":"web-a%[3]dbcd","resourceVersion":"2%[3]d"}}}}`, id, owner, run))
}

func normalised(t *testing.T, e Exchange) Exchange {
	t.Helper()
	n, err := e.Normalise()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// text returns an exchange as lines of text.
func text(e Exchange) string {
	return e.Path + "\n" + string(e.Request) + string(e.Response) + e.Failure
}

// The normalised exchanges of two runs are equal, and still have the values that a webhook needs for its decision.
// Normalising an exchange a second time changes nothing.
func TestNormalise(t *testing.T) {
	t.Parallel()
	answer := func(run int) []byte {
		return []byte(fmt.Sprintf(`{"kind":"AdmissionReview","response":{"uid":"%08d-1111-4111-8111-111111111111","allowed":true,"status":null,
			"patchType":"JSONPatch","patch":"W3sib3AiOiJhZGQiLCJwYXRoIjoiL2EiLCJ2YWx1ZSI6bnVsbH1d"}}`, run))
	}
	first := normalised(t, Exchange{Path: "/a", Request: review(1), Response: answer(1)})
	second := normalised(t, Exchange{Path: "/a", Request: review(2), Response: answer(2)})
	if diff := lines.Diff(text(first), text(second)); diff != "" {
		t.Errorf("another run (-first +second):\n%s", diff)
	}
	if diff := lines.Diff(text(first), text(normalised(t, first))); diff != "" {
		t.Errorf("normalised twice (-once +twice):\n%s", diff)
	}
	const want = `{
  "apiVersion": "admission.k8s.io/v1",
  "kind": "AdmissionReview",
  "request": {
    "name": "web-xxxxx",
    "namespace": "default",
    "object": {
      "apiVersion": "v1",
      "kind": "Pod",
      "metadata": {
        "annotations": {
          "owner": "00000000-0000-4000-8000-000000000001",
          "since": "2026-01-01T00:00:00Z"
        },
        "creationTimestamp": "2000-01-01T00:00:00Z",
        "generateName": "web-",
        "generation": 12345678901234567,
        "name": "web-xxxxx",
        "resourceVersion": "1",
        "uid": "00000000-0000-4000-8000-000000000001"
      },
      "spec": {
        "clusterIP": "10.0.0.1",
        "clusterIPs": [
          "10.0.0.1",
          "None",
          "fd00::1"
        ],
        "ports": [
          {
            "nodePort": 30001
          },
          {
            "nodePort": 0
          }
        ],
        "startTime": "2026-01-01T00:00:00Z",
        "volumes": [
          {
            "name": "kube-api-access-xxxxx"
          }
        ]
      },
      "status": {
        "conditions": [
          {
            "lastTransitionTime": "2000-01-01T00:00:00Z"
          }
        ],
        "startTime": "2000-01-01T00:00:00Z"
      }
    },
    "oldObject": {
      "metadata": {
        "name": "web-xxxxx",
        "resourceVersion": "2"
      }
    },
    "operation": "UPDATE",
    "resource": {
      "group": "",
      "resource": "pods",
      "version": "v1"
    },
    "subResource": "status",
    "uid": "00000000-0000-4000-8000-000000000002",
    "userInfo": {
      "extra": {
        "example.com/kept": [
          "1"
        ]
      },
      "username": "ann"
    }
  }
}
`
	if diff := lines.Diff(want, string(first.Request)); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	const wantResponse = `{"kind":"AdmissionReview","response":{"allowed":true,"patch":[{"op":"add","path":"/a","value":null}],"patchType":"JSONPatch","uid":"00000000-0000-4000-8000-000000000002"}}`
	var compact any
	if err := json.Unmarshal(first.Response, &compact); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(compact)
	if err != nil {
		t.Fatal(err)
	}
	if diff := lines.Diff(wantResponse, string(got)); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
}

// The server names an IPAddress after the address that it allocates to a Service. Normalise must replace the name and
// the address by the same text.
func TestNormaliseIPAddress(t *testing.T) {
	t.Parallel()
	made := func(address string) Exchange {
		return Exchange{Request: []byte(fmt.Sprintf(`{"kind":"AdmissionReview","request":{"operation":"DELETE","name":%[1]q,"userInfo":{"extra":{"authentication.kubernetes.io/credential-id":["1"]}},
			"oldObject":{"kind":"IPAddress","metadata":{"name":%[1]q},"spec":{"parentRef":{"name":"web"}}}}}`, address))}
	}
	first, second := normalised(t, made("10.0.3.4")), normalised(t, made("10.0.200.9"))
	if diff := lines.Diff(text(first), text(second)); diff != "" {
		t.Errorf("another address (-first +second):\n%s", diff)
	}
	if got := string(first.Request); !strings.Contains(got, `"name": "10.0.0.1"`) || strings.Contains(got, "extra") {
		t.Errorf("want the first address, and no extra field of the user, got %s", got)
	}
}

// recordRuns records one review for each run number, with the responses of a handler.
func recordRuns(t *testing.T, dir string, runs ...int) {
	t.Helper()
	writer, err := NewWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	allow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"response":{"allowed":true}}`))
	})
	recorder := Recorder(writer, allow, func(err error) { t.Error(err) })
	for _, run := range runs {
		recorder.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/mutate", bytes.NewReader(review(run))))
	}
}

// The name of a file contains the webhook or its path, the operation and the object. A retry makes no second file.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	recordRuns(t, dir, 1, 2)
	writer, err := NewWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	odd := `{"kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE","resource":{"resource":"roles"},"object":{"metadata":{"name":"system:../odd"}}}}`
	for _, e := range []Exchange{
		{Webhook: "my-config/pods.example.com", Request: []byte(odd), Failure: "404 Not Found: "},
		{Webhook: "my-config/pods.example.com", Request: []byte(odd), Failure: "500 Internal Server Error: "},
		{Webhook: "my-config/pods.example.com", Request: []byte(odd), Failure: "404 Not Found: "},
		{Path: "/../..", Request: []byte(odd)},
		// The mutating and the validating configuration of a project often have the same name. Their webhooks must
		// have different files.
		{Webhook: "MutatingWebhookConfiguration/a/b.example.com", Request: []byte(odd)},
		{Webhook: "ValidatingWebhookConfiguration/a/b.example.com", Request: []byte(odd)},
	} {
		if _, err := writer.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, file := range files {
		got = append(got, file.Name)
	}
	want := []string{
		"MutatingWebhookConfiguration/a/b.example.com/create-roles-system_.._odd.json",
		"ValidatingWebhookConfiguration/a/b.example.com/create-roles-system_.._odd.json",
		"mutate/update-pods-status-default-web-xxxxx.json",
		"my-config/pods.example.com/create-roles-system_.._odd-2.json",
		"my-config/pods.example.com/create-roles-system_.._odd.json",
		"webhook/create-roles-system_.._odd.json",
	}
	if diff := lines.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// Many clients record at the same time: each review has its file, and another recording in another order has the same
// files.
func TestConcurrentRecordings(t *testing.T) {
	t.Parallel()
	const clients, each = 32, 8
	var recordings []map[string]string
	for range 2 {
		dir := t.TempDir()
		writer, err := NewWriter(dir)
		if err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		for client := range clients {
			wait.Add(1)
			go func() {
				defer wait.Done()
				for i := range each {
					request := fmt.Sprintf(`{"kind":"AdmissionReview","request":{"uid":"%08d-1111-4111-8111-%012d","operation":"CREATE","resource":{"resource":"pods"},"object":{"metadata":{"name":"p-%d-%d"}}}}`, client, i, client, i)
					for range 2 { // a retry
						if _, err := writer.Write(Exchange{Path: "/mutate", Request: []byte(request)}); err != nil {
							t.Error(err)
						}
					}
				}
			}()
		}
		wait.Wait()
		files, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		recording := map[string]string{}
		for _, file := range files {
			recording[file.Name] = text(file.Exchange)
		}
		recordings = append(recordings, recording)
	}
	if got := len(recordings[0]); got != clients*each {
		t.Errorf("want %d files, got %d", clients*each, got)
	}
	if !maps.Equal(recordings[0], recordings[1]) {
		t.Errorf("want the same files again, got %v and %v", recordings[0], recordings[1])
	}
}

// unwritable returns a folder in which the user of the test can't make a file.
func unwritable(t *testing.T) string {
	t.Helper()
	if os.Geteuid() == 0 {
		return "/proc/self" // permissions don't bind root, and no user can make files in this folder
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A folder in which no file can be made is refused before the first review. The error names the folder.
func TestUnwritableFolders(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, reason, dir string }{
		{"a file", "it isn't a folder", file},
		{"below a file", "the folder can't be made", filepath.Join(file, "reviews")},
		{"no permission", "the folder is there, but no file can be made", unwritable(t)},
	} {
		want := fmt.Sprintf("folder for reviews %q: must be a folder in which files can be made, with space left: ", test.dir)
		_, err := NewWriter(test.dir)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %s: want an error that begins with %s, got %v", test.name, test.reason, want, err)
			continue
		}
		if cause := strings.TrimPrefix(err.Error(), want); strings.Contains(cause, "/") {
			t.Errorf("%s: want the folder once, got %v", test.name, err)
		}
	}
	dir := t.TempDir()
	if _, err := NewWriter(dir); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("want the folder to stay empty, got %v, %v", left, err)
	}
}

// A write that fails is reported. It leaves the folder as it was.
func TestFailedWritesChangeNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	recordRuns(t, dir, 1)
	files, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(files[0].Path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(files[0].Path, 0o700); err != nil { // a file can't replace a folder
		t.Fatal(err)
	}
	writer, err := NewWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	var failures []error
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotFound) })
	Recorder(writer, refuse, func(err error) { failures = append(failures, err) }).ServeHTTP(
		httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/mutate", bytes.NewReader(review(1))))
	if len(failures) != 1 || !strings.Contains(failures[0].Error(), files[0].Path) {
		t.Errorf("want an error that names %s, got %v", files[0].Path, failures)
	}
	if after, err := os.ReadDir(filepath.Dir(files[0].Path)); err != nil || len(after) != 1 || !after[0].IsDir() {
		t.Errorf("want the folder alone, got %v, %v", after, err)
	}
}

// A recording replaces a symbolic link: its target may be a file that another user wants to be overwritten.
func TestWriteReplacesLinks(t *testing.T) {
	t.Parallel()
	dir, target := t.TempDir(), filepath.Join(t.TempDir(), "target")
	recordRuns(t, dir, 1)
	files, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(target, nil, 0o600), os.Remove(files[0].Path), os.Symlink(target, files[0].Path)); err != nil {
		t.Fatal(err)
	}
	recordRuns(t, dir, 1)
	if info, err := os.Lstat(files[0].Path); err != nil || !info.Mode().IsRegular() {
		t.Errorf("want a regular file, got %v, %v", info, err)
	}
	if content, err := os.ReadFile(target); err != nil || len(content) > 0 {
		t.Errorf("want the target to stay empty, got %q, %v", content, err)
	}
}

func TestReadFailures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, content, want string }{
		{"empty folder", "", "must have files with the ending .json"},
		{"no JSON", "{", "a.json: must be a file that a recording has written: unexpected EOF"},
		{"unknown field", `{"requests":{}}`, `unknown field "requests"`},
		{"no review", `{"request":{"kind":"Pod"}}`, `must be an AdmissionReview with a request, got kind "Pod"`},
	} {
		dir := t.TempDir()
		if test.content != "" {
			if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: want an error with %q, got %v", test.name, test.want, err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a folder that isn't there was read")
	}
}
