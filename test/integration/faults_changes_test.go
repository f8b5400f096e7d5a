package integration_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server/faults"
)

// code returns the status code of a list of nodes. These tests inject faults into this request.
func code(t testing.TB, srv *miniapitest.Server) int32 {
	t.Helper()
	_, err := srv.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err == nil {
		return http.StatusOK
	}
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		t.Fatal(err)
	}
	return status.Status().Code
}

// A client can add and remove injected faults while the server runs. The change applies to every request after the
// response to it.
func TestFaultsChange(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	var got []int32
	look := func() { got = append(got, code(t, srv)) }
	look()
	inject(t, srv, "faults: [{name: one, resources: [nodes], status: 501, requests: 1}]")
	look()
	look()
	inject(t, srv, `{"faults": [{"name": "two", "resources": ["nodes"], "status": 502}, {"resources": ["nodes"], "status": 599}]}`)
	look()
	uninject(t, srv, "two")
	look()
	uninject(t, srv, "")
	look()
	if diff := cmp.Diff([]int32{200, 501, 200, 502, 599, 200}, got); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}

// An invalid request to add or remove injected faults changes nothing, and its error says what would be right.
func TestWrongChangesOfFaults(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	inject(t, srv, "faults: [{name: there, resources: [nodes], status: 501}]")
	client := srv.Client().Discovery().RESTClient()
	for _, test := range []struct {
		name, reason, method, path, body string
		want                             string
		is                               func(error) bool
	}{
		{"invalid", "all faults of a request are checked before one is added", http.MethodPost, "",
			"faults: [{resources: [nodes], status: 502}, {status: 1}]",
			"fault number 2: status 1: must be the code of an error, 400 to 599", apierrors.IsBadRequest},
		{"no YAML", "the body must be read", http.MethodPost, "", "faults: [", "did not find expected", apierrors.IsBadRequest},
		{"empty", "a request without faults has no effect", http.MethodPost, "", " ", "the body has no faults", apierrors.IsBadRequest},
		{"name twice", "a fault is removed by its name", http.MethodPost, "", "faults: [{name: there, status: 500}]",
			`faults "there" already exists`, apierrors.IsAlreadyExists},
		{"none of the name", "a misspelled name must not be ignored", http.MethodDelete, "/gone", "",
			`faults "gone" not found`, apierrors.IsNotFound},
		{"method", "faults can't be updated", http.MethodPut, "", "faults: []", "PUT is not supported", apierrors.IsMethodNotSupported},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := client.Verb(test.method).AbsPath(faults.Path + test.path).Body([]byte(test.body)).Do(t.Context()).Error()
			if err == nil || !test.is(err) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: want an error with %q, got %v", test.reason, test.want, err)
			}
			if got := code(t, srv); got != 501 {
				t.Errorf("want the faults to stay, got the code %d", got)
			}
		})
	}
}

// A user can read and inject faults only with permission for the URL path of faults.
func TestFaultsNeedPermission(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithUser("ann"), miniapitest.WithUser("bob"))
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "faults"}, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{faults.Path}, Verbs: []string{"get", "post"}}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "faults"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "faults"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "ann"}},
	}
	must(srv.Client().RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}))(t)
	must(srv.Client().RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}))(t)
	var got []string
	for _, user := range []string{"ann", "bob"} {
		client := kubernetes.NewForConfigOrDie(srv.User(user)).Discovery().RESTClient()
		for _, request := range []struct {
			name string
			err  error
		}{
			{"get", client.Get().AbsPath(faults.Path).Do(t.Context()).Error()},
			{"post", client.Post().AbsPath(faults.Path).Body([]byte("faults: [{status: 500, paths: [/none]}]")).Do(t.Context()).Error()},
			{"delete", client.Delete().AbsPath(faults.Path).Do(t.Context()).Error()},
		} {
			if request.err != nil && !apierrors.IsForbidden(request.err) {
				t.Fatal(request.err)
			}
			got = append(got, fmt.Sprint(user, " ", request.name, " ", request.err == nil))
		}
	}
	want := []string{"ann get true", "ann post true", "ann delete false", "bob get false", "bob post false", "bob delete false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is permitted (-want +got):\n%s", diff)
	}
}

// The server reads the file of --fault-file again when it changes. Invalid content changes nothing. A fault that is
// also in the new content keeps its counts.
func TestFaultFileIsReloaded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "faults.yaml")
	const counted = "- {name: counted, resources: [nodes], requests: 1, status: 501}\n"
	replace(t, path, "faults:\n"+counted)
	srv := miniapitest.Start(t, miniapitest.WithFlags("--fault-file="+path))
	if got := code(t, srv); got != 501 {
		t.Fatalf("want the code of the file, 501, got %d", got)
	}
	await := func(want int32) {
		t.Helper()
		eventually(t, func(context.Context) error {
			if got := code(t, srv); got != want {
				return fmt.Errorf("want the code %d, got %d", want, got)
			}
			return nil
		})
	}
	replace(t, path, "faults:\n"+counted+"- {resources: [nodes], status: 502}\n")
	await(502) // the fault with the status 501 must not return
	replace(t, path, "faults: [{status: 1}]")
	replace(t, path, "faults: [{resources: [nodes], status: 503}]")
	await(503)
	replace(t, path, "")
	await(http.StatusOK)
}

// The audit event of a request has annotations for the faults that were injected into the request and into its calls
// of webhooks. The response has a header for each of these faults.
func TestFaultsAreAudited(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string]string{}
	srv := miniapitest.Start(t, miniapitest.WithAudit(nil, func(e *auditv1.Event) {
		mu.Lock()
		defer mu.Unlock()
		if annotation := e.Annotations[faults.Annotation]; annotation != "" {
			got[e.Verb] = annotation
		}
	}))
	install(t, srv, mutating("w", allow(), failurePolicy(admissionregistrationv1.Ignore)))
	inject(t, srv, `
faults:
- {name: slow, verbs: [create], resources: [configmaps], latency: 1ms}
- {name: deaf, webhooks: [w.example.com], refuse: true}
- {name: broken, verbs: [update], reset: stream}
`)
	prepare(t, srv.Client(), false)
	req := must(http.NewRequestWithContext(t.Context(), http.MethodPost, srv.Config().Host+"/api/v1/namespaces/default/configmaps", strings.NewReader(`{"metadata":{"name":"thing"}}`)))(t)
	response, err := plain(t, srv.Config()).Do(req)
	ok(t, err)
	ok(t, response.Body.Close())
	if err := updateThing(t.Context(), srv.Client()); err == nil {
		t.Error("want the update to fail")
	}
	const slow, deaf = "slow: latency 1ms at request 1", "deaf: refuse at call 1 of webhook w/w.example.com"
	if diff := cmp.Diff([]string{slow, deaf}, response.Header.Values(faults.Header)); diff != "" {
		t.Errorf("header of the response (-want +got):\n%s", diff)
	}
	want := map[string]string{"create": slow + "; " + deaf, "update": "broken: reset at request 1"}
	eventually(t, func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("annotations by verb (-want +got):\n%s", diff)
		}
		return nil
	})
}
