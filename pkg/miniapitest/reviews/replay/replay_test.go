package replay

import (
	"context"
	"encoding/json"
	"flag" //nolint:depguard // the test defines the flag that the package reads
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/reviews"
)

// review returns an AdmissionReview with a uid.
func review(uid string) []byte {
	return []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"` + uid + `","operation":"CREATE","name":"web",
		"resource":{"group":"","version":"v1","resource":"pods"},"object":{"metadata":{"name":"web"}}}}`)
}

// handler returns a webhook that answers with a patch, and counts its calls. Without a patch, the webhook answers with
// an error.
func handler(patch string, calls *int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		*calls++
		var asked struct {
			APIVersion, Kind string
			Request          struct{ UID string }
		}
		if err := json.NewDecoder(req.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if patch == "" {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": asked.APIVersion, "kind": asked.Kind, "response": map[string]any{
			"uid": asked.Request.UID, "allowed": true, "patchType": "JSONPatch", "patch": []byte(patch),
		}})
	})
}

// record records a review, with the response of a handler, into a folder.
func record(t *testing.T, dir string, handler http.Handler) {
	t.Helper()
	writer, err := reviews.NewWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	recorder := reviews.Recorder(writer, handler, func(err error) { t.Error(err) })
	code, body, err := ToHandler(recorder)(context.Background(), "/mutate", review("11111111-1111-4111-8111-111111111111"))
	if err != nil || code != http.StatusOK && code != http.StatusInternalServerError {
		t.Fatalf("%d, %s, %v", code, body, err)
	}
}

// failures is a TB that collects the texts of errors and logs.
type failures struct {
	testing.TB
	errors, logs []string
}

func (f *failures) Helper() {}
func (f *failures) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}
func (f *failures) Logf(format string, args ...any) {
	f.logs = append(f.logs, fmt.Sprintf(format, args...))
}

const twoLabels = `[{"op":"add","path":"/metadata/labels","value":{}},{"op":"add","path":"/metadata/labels/a","value":"1"}]`

func TestReplay(t *testing.T) {
	t.Parallel()
	calls := 0
	for _, test := range []struct {
		name, reason, patch string
		// want is a part of the difference, or "" if there must be no difference.
		want string
	}{
		{"same", "the handler answers like the recorded handler", twoLabels, ""},
		{"another patch to the same object", "patches from maps have no order",
			`[{"op":"add","path":"/metadata/labels","value":{"a":"1"}}]`, ""},
		{"another object", "the difference is in the object",
			`[{"op":"add","path":"/metadata/labels","value":{"a":"2"}}]`,
			"-        \"a\": \"1\"\n+        \"a\": \"2\""},
		{"impossible patch", "a server would refuse the patch", `[{"op":"remove","path":"/none"}]`,
			"the patch can't be applied: error in remove"},
		{"failure", "the status and the body are shown", "", "500 Internal Server Error: broken"},
	} {
		dir := t.TempDir()
		record(t, dir, handler(twoLabels, &calls))
		failed := &failures{TB: t}
		Handler(failed, dir, handler(test.patch, &calls))
		if got := strings.Join(failed.errors, "\n"); test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: %s: want a difference with %q, got:\n%s", test.name, test.reason, test.want, got)
		}
		// After an update, a replay finds no difference.
		failed.logs = nil
		Handler(failed, dir, handler(test.patch, &calls), Update(true))
		if updated := len(failed.logs) == 1; updated != (test.want != "") {
			t.Errorf("%s: want an update with a difference alone, got %q", test.name, failed.logs)
		}
		failed.errors = nil
		Handler(failed, dir, handler(test.patch, &calls))
		if len(failed.errors) > 0 {
			t.Errorf("%s: after the update: %s", test.name, failed.errors)
		}
	}
}

// A response with a wrong uid differs from the recorded one.
func TestReplayFindsWrongUID(t *testing.T) {
	t.Parallel()
	dir, calls := t.TempDir(), 0
	record(t, dir, handler(twoLabels, &calls))
	failed := &failures{TB: t}
	Handler(failed, dir, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"response":{"uid":"99999999-1111-4111-8111-111111111111","allowed":true}}`))
	}))
	if len(failed.errors) != 1 || !strings.Contains(failed.errors[0], `"uid"`) {
		t.Errorf("want a difference of the uid, got %q", failed.errors)
	}
}

// Without the option Update, the flag -update of the test decides. The test isn't parallel, because the whole process
// shares the flag.
func TestFlagUpdate(t *testing.T) { //nolint:paralleltest // see above
	if flag.Lookup(updateFlag) == nil { // with -count=2, the first run has defined the flag
		flag.Bool(updateFlag, false, "write the responses into the golden files")
	}
	set := func(value string) {
		t.Helper()
		if err := flag.Set(updateFlag, value); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { set("false") })
	dir, calls := t.TempDir(), 0
	record(t, dir, handler(`[{"op":"add","path":"/a","value":1}]`, &calls))
	other := handler(`[{"op":"add","path":"/a","value":2}]`, &calls)
	different := &failures{TB: t}
	Handler(different, dir, other)
	if len(different.errors) != 1 || len(different.logs) != 1 || !strings.Contains(different.logs[0], "go test -update") {
		t.Errorf("want a difference, and the flag that updates the files, got %q, %q", different.errors, different.logs)
	}
	set("true")
	unwanted := &failures{TB: t}
	Handler(unwanted, dir, handler(`[{"op":"add","path":"/a","value":3}]`, &calls), Update(false))
	if len(unwanted.errors) != 1 {
		t.Errorf("want the option to decide before the flag, got %q, %q", unwanted.errors, unwanted.logs)
	}
	updated := &failures{TB: t}
	Handler(updated, dir, other)
	set("false")
	same := &failures{TB: t}
	Handler(same, dir, other)
	if len(updated.errors)+len(same.errors) > 0 || len(updated.logs) != 1 || len(same.logs) > 0 {
		t.Errorf("want the flag to update the file, got %q, %q, then %q", updated.errors, updated.logs, same.errors)
	}
}
