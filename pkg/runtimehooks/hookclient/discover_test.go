package hookclient_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
)

func TestDiscover(t *testing.T) {
	t.Parallel()
	const hook = `"requestHook":{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","hook":"BeforeClusterCreate"}`
	reference := runtimev1.GroupVersionHook{APIVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1", Hook: "BeforeClusterCreate"}
	for _, test := range []struct {
		name, reason, answer string
		want                 []runtimev1.ExtensionHandler
		err                  string
	}{{
		name:   "none",
		reason: "an extension may have no handlers yet",
		answer: `{"status":"Success"}`,
		want:   []runtimev1.ExtensionHandler{},
	}, {
		name:   "defaults",
		reason: "an answer may leave out fields with default values",
		answer: `{"status":"Success","handlers":[{"name":"b",` + hook + `},{"name":"a",` + hook + `,"timeoutSeconds":30,"failurePolicy":"Ignore"}]}`,
		want: []runtimev1.ExtensionHandler{
			{Name: "a.quota", RequestHook: reference, TimeoutSeconds: 30, FailurePolicy: "Ignore"},
			{Name: "b.quota", RequestHook: reference, TimeoutSeconds: 10, FailurePolicy: "Fail"},
		},
	}, {
		name:   "items",
		reason: "the proposal of the Runtime SDK has the handlers in another field than Cluster API's code",
		answer: `{"status":"Success","items":[{"name":"a"}]}`,
		err:    `the handlers must be in the field "handlers"`,
	}, {
		name:   "failure",
		reason: "an answer with the status Failure is an error",
		answer: `{"status":"Failure","message":"starting"}`,
		err:    "answered Failure: starting",
	}, {
		name:   "unknown status",
		reason: "a status is Success or Failure",
		answer: `{"status":"Maybe"}`,
		err:    `"Maybe", which is neither Success nor Failure`,
	}, {
		name:   "name",
		reason: "a name is a part of a path and of HANDLER.CONFIG",
		answer: `{"status":"Success","handlers":[{"name":"a.b",` + hook + `}]}`,
		err:    "must be a DNS label",
	}, {
		name:   "name twice",
		reason: "a name is unique",
		answer: `{"status":"Success","handlers":[{"name":"a",` + hook + `},{"name":"a",` + hook + `}]}`,
		err:    `"a" is given twice`,
	}, {
		name:   "unknown hook",
		reason: "a handler of a hook that isn't in the catalog could never be called",
		answer: `{"status":"Success","handlers":[{"name":"a","requestHook":{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1","hook":"BeforeClusterCreate"}}]}`,
		err:    "the catalog has no hook hooks.runtime.cluster.x-k8s.io/v1/BeforeClusterCreate",
	}, {
		name:   "no group version",
		reason: "an apiVersion has one slash",
		answer: `{"status":"Success","handlers":[{"name":"a","requestHook":{"apiVersion":"a/b/c","hook":"BeforeClusterCreate"}}]}`,
		err:    `requestHook.apiVersion "a/b/c"`,
	}, {
		name:   "discovery itself",
		reason: "the path of a singleton has no name",
		answer: `{"status":"Success","handlers":[{"name":"a","requestHook":{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","hook":"Discovery"}}]}`,
		err:    "is a singleton",
	}, {
		name:   "timeout too short",
		reason: "a timeout is at least a second",
		answer: `{"status":"Success","handlers":[{"name":"a",` + hook + `,"timeoutSeconds":0}]}`,
		err:    "timeoutSeconds is 0, and must be between 1 and 30",
	}, {
		name:   "timeout too long",
		reason: "a timeout is at most 30 seconds",
		answer: `{"status":"Success","handlers":[{"name":"a",` + hook + `,"timeoutSeconds":31}]}`,
		err:    "timeoutSeconds is 31, and must be between 1 and 30",
	}, {
		name:   "failure policy",
		reason: "a failure policy is Fail or Ignore",
		answer: `{"status":"Success","handlers":[{"name":"a",` + hook + `,"failurePolicy":"Retry"}]}`,
		err:    `failurePolicy is "Retry"`,
	}, {
		name:   "all faults at once",
		reason: "one error lists all faults, so that the author of an extension can mend them together",
		answer: `{"status":"Success","handlers":[{"name":"A",` + hook + `},{"name":"b",` + hook + `,"timeoutSeconds":99}]}`,
		err:    "timeoutSeconds is 99",
	}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			paths := make(chan string, 1)
			config := w.serve("quota", http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
				paths <- req.Method + " " + req.URL.Path
				answer(http.StatusOK, test.answer).ServeHTTP(rw, req)
			}))
			config.Spec.ClientConfig.URL += "/prefix"
			got, err := w.client.Discover(t.Context(), config)
			if path := <-paths; path != "POST /prefix/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovery" {
				t.Errorf("the request is %s", path)
			}
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), `"quota"`) {
					t.Errorf("error %v lacks %q (%s)", err, test.err, test.reason)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got, %s): %s", err, test.reason, diff)
			}
		})
	}
}
