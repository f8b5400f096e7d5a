package aggregation

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// TestOpenAPIV2Waits checks how long a request for /openapi/v2 waits for the document of a new server, and whether the
// document is requested at all.
func TestOpenAPIV2Waits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, path, user string
		checked, want            time.Duration
		wanted                   bool
	}{
		{"soon", "the document has the API of the new server", "/openapi/v2", "alice", time.Second, time.Second, true},
		{"never", "the document has other APIs too, so the wait is limited", "/openapi/v2", "alice", time.Hour, settleTimeout, true},
		{"other document", "no client has requested the document", "/openapi/v3", "alice", time.Hour, 0, false},
		{"aggregator", "the other server may wait for this server", "/openapi/v2", "system:aggregator", time.Hour, 0, false},
		{"own request", "the other server may wait for this server", "/openapi/v2", user.APIServerUser, time.Hour, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, r := with(t, nil)
				time.AfterFunc(test.checked, func() { r.swagger.refresh(t.Context(), r) })
				begin := time.Now() // the clock is the fake one of package synctest
				var took time.Duration
				ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: test.user})
				a.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { took = time.Since(begin) })).
					ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, test.path, http.NoBody))
				if took != test.want {
					t.Errorf("%s: want a wait of %v, got %v", test.reason, test.want, took)
				}
				if wanted := r.swagger.wanted.Load(); wanted != test.wanted {
					t.Errorf("%s: want the document of the other server to be requested: %t, got %t", test.reason, test.wanted, wanted)
				}
			})
		})
	}
}

// TestOpenAPIV2OfDeletedAPIService checks that a request for /openapi/v2 doesn't wait for a server whose APIService is
// deleted meanwhile.
func TestOpenAPIV2OfDeletedAPIService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, r := with(t, nil)
		time.AfterFunc(time.Second, r.end)
		begin := time.Now()
		a.readSwaggers(t.Context())
		if took := time.Since(begin); took != time.Second {
			t.Errorf("want a wait until the end of the server's API, got %v", took)
		}
	})
}

// TestSwaggers checks that Swaggers sorts the documents by the priority of the group, and then by name. It also checks
// that Swaggers leaves out servers without a document.
func TestSwaggers(t *testing.T) {
	t.Parallel()
	a, _ := with(t, nil) // the server that the function with adds has no document
	for _, s := range []struct {
		name     string
		priority int32
	}{{"v1.b", 1}, {"v1.a", 1}, {"v1.c", 2}} {
		r := newRemote(a, &apiregistrationv1.APIService{
			ObjectMeta: metav1.ObjectMeta{Name: s.name},
			Spec: apiregistrationv1.APIServiceSpec{Group: s.name[3:], Version: "v1",
				GroupPriorityMinimum: s.priority, Service: &apiregistrationv1.ServiceReference{}},
		})
		r.swagger.part = cached.Result[*spec.Swagger]{Value: &spec.Swagger{}, Etag: s.name}
		a.remotes.replace(r.gv, r)
	}
	var got []string
	for _, part := range a.Swaggers() {
		got = append(got, part.Etag)
	}
	if diff := cmp.Diff([]string{"v1.c", "v1.a", "v1.b"}, got); diff != "" {
		t.Errorf("the ETags of the documents differ (-want +got):\n%s", diff)
	}
}
