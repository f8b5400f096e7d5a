package customresources

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// TestSettled checks that a user's request waits until a deletion is in effect. The server's own request
// doesn't wait: a handler of the informer may make such a request, and the deletion is in effect only after the
// handler has returned.
func TestSettled(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason, user string
		waits              time.Duration
	}{
		{"user", "after a user's request, no custom resource of the deleted definition can be created", "somebody", time.Second},
		{"server", "a handler of the informer would wait for its own end", user.APIServerUser, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := New(t.Context(), Hooks{})
				crd := &apiextensionsv1.CustomResourceDefinition{}
				crd.Name, crd.ResourceVersion = "things.example.com", "7"
				r.Observe(crd, false)
				r.barrier.ends(crd.Name, "8")
				time.AfterFunc(time.Second, func() { r.Observe(crd, true) })

				began := time.Now()
				handler := r.Settled(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
					if waited := time.Since(began); waited != tc.waits {
						t.Errorf("%s: want the request to wait for %v, got %v", tc.reason, tc.waits, waited)
					}
				}))
				ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: tc.user})
				handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/apis", http.NoBody))
				synctest.Wait()
			})
		})
	}
}

// A request whose client gives up doesn't wait until the deletion is in effect. The next request waits.
func TestSettledGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(t.Context(), Hooks{})
		crd := &apiextensionsv1.CustomResourceDefinition{}
		crd.Name, crd.ResourceVersion = "things.example.com", "7"
		r.Observe(crd, false)
		r.barrier.ends(crd.Name, "8")
		time.AfterFunc(3*time.Second, func() { r.Observe(crd, true) })

		began := time.Now()
		served := func(waited time.Duration) http.Handler {
			return r.Settled(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				if got := time.Since(began); got != waited {
					t.Errorf("want the request to be served after %v, got %v", waited, got)
				}
			}))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		served(time.Second).ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/apis", http.NoBody))
		served(3*time.Second).ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/apis", http.NoBody))
		synctest.Wait()
	})
}

// A server keeps nothing of a deleted definition, even if no request for a custom resource waits for the deletion.
func TestDeletedDefinitionIsForgotten(t *testing.T) {
	t.Parallel()
	r := New(t.Context(), Hooks{})
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name, crd.ResourceVersion = "things.example.com", "7"
	r.Observe(crd, false)
	r.barrier.refused(crd.Name, "7")
	r.barrier.ends(crd.Name, "8")
	r.Observe(crd, true)
	r.barrier.known.Read(func(k knownDefinitions) {
		if left := len(k.seen) + len(k.stuck) + len(k.ending); left != 0 {
			t.Errorf("want nothing to be known of the definition, got %v, %v and %v", k.seen, k.stuck, k.ending)
		}
	})
}
