package extension_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extension"
)

// BeforeBackup is an example hook of another group. It is deprecated.
func BeforeBackup(*backupRequest, *backupResponse) {}

type backupRequest struct {
	metav1.TypeMeta `json:",inline"`
	hooksv1.CommonRequest
}

type backupResponse struct {
	metav1.TypeMeta `json:",inline"`
	hooksv1.CommonResponse
}

func (r *backupRequest) DeepCopyObject() runtime.Object  { c := *r; return &c }
func (r *backupResponse) DeepCopyObject() runtime.Object { c := *r; return &c }

func newCatalog(t *testing.T) *catalog.Catalog {
	t.Helper()
	c := catalog.New()
	if err := errors.Join(
		clusterapi.AddToCatalog(c),
		c.Register(schema.GroupVersion{Group: "hooks.backup.example", Version: "v1alpha1"}, catalog.Define(BeforeBackup, catalog.Metadata{Deprecated: true})),
	); err != nil {
		t.Fatal(err)
	}
	return c
}

func create(_ context.Context, _ *clusterapi.BeforeClusterCreateRequest, response *clusterapi.BeforeClusterCreateResponse) {
	response.Status = hooksv1.ResponseStatusSuccess
}

func remove(_ context.Context, _ *clusterapi.BeforeClusterDeleteRequest, response *clusterapi.BeforeClusterDeleteResponse) {
	response.Status = hooksv1.ResponseStatusSuccess
}

func post(handler http.Handler, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w
}

const (
	group  = "/hooks.runtime.cluster.x-k8s.io/v1alpha1"
	object = `{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","kind":"`
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	ok := extension.Of(clusterapi.BeforeClusterCreate, "quota", create)
	unregistered := func(*clusterapi.BeforeClusterCreateRequest, *clusterapi.BeforeClusterCreateResponse) {}
	for _, test := range []struct {
		name, reason string
		handlers     []extension.Handler
		want         string
	}{
		{"path twice", "one of the two handlers would never be called", []extension.Handler{ok, ok},
			"another handler has the path /hooks.runtime.cluster.x-k8s.io/v1alpha1/beforeclustercreate/quota"},
		{"name twice", "discovery is invalid if two handlers have one name",
			[]extension.Handler{ok, extension.Of(clusterapi.BeforeClusterDelete, "quota", remove)},
			"has the same name"},
		{"no name", "the path ends with the name",
			[]extension.Handler{extension.Of(clusterapi.BeforeClusterCreate, "", create)}, "must be a DNS label"},
		{"upper case", "paths are in lower case",
			[]extension.Handler{extension.Of(clusterapi.BeforeClusterCreate, "Quota", create)}, "must be a DNS label"},
		{"nil", "a handler needs a function",
			[]extension.Handler{extension.Of(clusterapi.BeforeClusterCreate, "quota", nil)},
			"the function must not be nil"},
		{"half a second", "discovery has whole seconds",
			[]extension.Handler{extension.Of(clusterapi.BeforeClusterCreate, "quota", create, extension.Timeout(500*time.Millisecond))},
			"timeout 500ms"},
		{"too long", "callers refuse the value",
			[]extension.Handler{extension.Of(clusterapi.BeforeClusterCreate, "quota", create, extension.Timeout(time.Minute))},
			"timeout 1m0s"},
		{"policy", "callers refuse the value",
			[]extension.Handler{extension.Of(clusterapi.BeforeClusterCreate, "quota", create, extension.FailurePolicy("Retry"))},
			`failure policy "Retry"`},
		{"unknown hook", "the catalog names the path", []extension.Handler{extension.Of(unregistered, "quota", create)}, "literal"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := extension.New(extension.Options{Catalog: newCatalog(t)}, test.handlers...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v lacks %q (%s)", err, test.want, test.reason)
			}
		})
	}
	if _, err := extension.New(extension.Options{}); err == nil {
		t.Error("an extension without a catalog was made")
	}
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	e, err := extension.New(extension.Options{Catalog: newCatalog(t)},
		extension.Of(clusterapi.BeforeClusterDelete, "backup", remove, extension.Timeout(5*time.Second), extension.FailurePolicy(hooksv1.FailurePolicyIgnore)),
		extension.Of(clusterapi.BeforeClusterCreate, "quota", create))
	if err != nil {
		t.Fatal(err)
	}
	w := post(e, group+"/discovery", `{}`)
	var got hooksv1.DiscoveryResponse
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := hooksv1.DiscoveryResponse{
		CommonResponse: hooksv1.CommonResponse{Status: hooksv1.ResponseStatusSuccess},
		Handlers: []hooksv1.ExtensionHandler{
			{
				Name: "backup", TimeoutSeconds: ptr.To[int32](5), FailurePolicy: ptr.To(hooksv1.FailurePolicyIgnore),
				RequestHook: hooksv1.GroupVersionHook{APIVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1", Hook: "BeforeClusterDelete"},
			},
			{Name: "quota",
				RequestHook: hooksv1.GroupVersionHook{APIVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1", Hook: "BeforeClusterCreate"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
}

func TestServeHTTP(t *testing.T) {
	t.Parallel()
	answers := func(_ context.Context, r *clusterapi.BeforeClusterCreateRequest, response *clusterapi.BeforeClusterCreateResponse) {
		switch r.Settings["answer"] {
		case "panic":
			panic("out of quota")
		case "nothing":
		case "failure":
			response.Status, response.Message = hooksv1.ResponseStatusFailure, "no quota"
		default:
			response.Status, response.Message = hooksv1.ResponseStatusSuccess, string(r.Cluster.Raw)
		}
	}
	for _, test := range []struct {
		name, reason, method, path, body string
		code                             int
		want                             string // part of the body
	}{
		{name: "success", reason: "the function gets the request", body: `{"cluster":{"kind":"Cluster"}}`, code: 200,
			want: `"message":"{\"kind\":\"Cluster\"}"`},
		{name: "failure", reason: "a failure is an answer", body: `{"settings":{"answer":"failure"}}`, code: 200,
			want: `{"status":"Failure","message":"no quota","retryAfterSeconds":0}`},
		{name: "kind", reason: "callers name the kind", body: object + `BeforeClusterCreateRequest"}`, code: 200, want: `"Success"`},
		{name: "other kind", reason: "the request belongs to another hook", body: object + `DiscoveryRequest"}`,
			code: 200,
			want: `"Failure","message":"the request is a hooks.runtime.cluster.x-k8s.io/v1alpha1, Kind=DiscoveryRequest`},
		{name: "no JSON", reason: "the message tells the caller the mistake", body: `<`, code: 200,
			want: `"Failure","message":"the request must be a BeforeClusterCreateRequest`},
		{name: "wrong type", reason: "the message tells the caller the mistake", body: `{"settings":"x"}`, code: 200, want: `"Failure"`},
		{name: "no body", reason: "an empty body is no JSON", code: 200, want: `"Failure"`},
		{name: "huge", reason: "a request doesn't fill the extension's memory",
			body: strings.Repeat(" ", extension.MaxRequestBytes+1), code: 200,
			want: `"Failure","message":"the request can't be read`},
		{name: "panic", reason: "one request doesn't end the extension", body: `{"settings":{"answer":"panic"}}`,
			code: 500, want: "has panicked or has set no valid status"},
		{name: "no status", reason: "a function that forgets the status has a fault",
			body: `{"settings":{"answer":"nothing"}}`, code: 500, want: "has panicked or has set no valid status"},
		{name: "get", reason: "hooks are called by POST", method: http.MethodGet, code: 405, want: "by POST"},
		{name: "other name", reason: "a handler has one path", path: group + "/beforeclustercreate/other", code: 404,
			want: "no handler at"},
		{name: "other version", reason: "a handler implements one version",
			path: "/hooks.runtime.cluster.x-k8s.io/v1/beforeclustercreate/quota", code: 404, want: "no handler at"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var observed []extension.Served
			e, err := extension.New(extension.Options{Catalog: newCatalog(t), Observe: func(s extension.Served) { observed = append(observed, s) }},
				extension.Of(clusterapi.BeforeClusterCreate, "quota", answers))
			if err != nil {
				t.Fatal(err)
			}
			path, method := test.path, test.method
			if path == "" {
				path = group + "/beforeclustercreate/quota"
			}
			if method == "" {
				method = http.MethodPost
			}
			w := httptest.NewRecorder()
			e.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(test.body)))
			if w.Code != test.code || !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("answered %d %s, not %d with %q (%s)", w.Code, w.Body, test.code, test.want, test.reason)
			}
			if called := test.code == 200 || test.code == 500; called != (len(observed) == 1) {
				t.Errorf("observed %+v", observed)
			} else if called && (observed[0].Code != test.code || observed[0].Handler != "quota") {
				t.Errorf("observed %+v", observed)
			}
			if w := post(e, path, `{}`); test.code == 500 && w.Code != 200 {
				t.Errorf("the next request is answered %d", w.Code)
			}
		})
	}
}

func TestDeprecatedHookWarns(t *testing.T) {
	t.Parallel()
	e, err := extension.New(extension.Options{Catalog: newCatalog(t)},
		extension.Of(clusterapi.BeforeClusterCreate, "quota", create),
		extension.Of(BeforeBackup, "tape", func(_ context.Context, _ *backupRequest, response *backupResponse) {
			response.Status = hooksv1.ResponseStatusSuccess
		}))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/hooks.backup.example/v1alpha1/beforebackup/tape": `299 - "hook hooks.backup.example/v1alpha1/BeforeBackup is deprecated"`,
		group + "/discovery":                 `299 - "hook hooks.backup.example/v1alpha1/BeforeBackup is deprecated"`,
		group + "/beforeclustercreate/quota": "",
	} {
		if got := post(e, path, `{}`).Header().Get("Warning"); got != want {
			t.Errorf("%s warns %q, not %q", path, got, want)
		}
	}
}
