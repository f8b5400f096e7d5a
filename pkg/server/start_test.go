package server

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/server/customresources"
	"github.com/miniapi-dev/miniapi/pkg/server/loopback"
)

// The function graceful returns a context that ends a given time after its parent.
func TestGraceful(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now() // the clock is the fake one of package synctest
		later, end := graceful(ctx, time.Second)
		defer end()
		cancel()
		<-later.Done()
		if took := time.Since(began); took != time.Second {
			t.Errorf("it has ended after %v, want a second", took)
		}
		other, end := graceful(t.Context(), time.Second)
		end()
		<-other.Done()
	})
}

// orWhyUnlisted adds a reason to the error of an informer that can't list its objects, if a list request of its own
// fails before the start ends.
func TestOrWhyUnlisted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		ended        bool // whether the start has ended
		fails        bool // whether the server answers with errors
		hangs        bool // whether the server gives no answer until the start ends
		want         string
	}{
		{"requests fail", "the list request of orWhyUnlisted fails for the same reason as the informer", false, true,
			false, "it took too long: the server can't list customresourcedefinitions.apiextensions.k8s.io: no audit"},
		{"requests succeed", "the list request succeeds, so there is no reason to add", false, false, false, "it took too long"},
		{"the end of the start", "at the end of the start, the caller no longer waits for a reason", true, true, false,
			"it took too long"},
		{"the end of the start before the answer", "the start ends while the list request waits for its response",
			false, true, true, "it took too long"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			starting, end := context.WithTimeout(t.Context(), startTimeout)
			defer end()
			if test.ended {
				end()
			}
			apiServer := loopback.New(t.Context())
			apiServer.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if test.hangs {
					end()
					<-r.Context().Done()
				}
				w.Header().Set("Content-Type", "application/json")
				if !test.fails || r.URL.Path != "/apis/apiextensions.k8s.io/v1/customresourcedefinitions" {
					_, _ = w.Write([]byte(`{"kind": "List", "apiVersion": "v1", "items": []}`))
				} else {
					w.WriteHeader(http.StatusInternalServerError)
					_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no audit", "code": 500}`))
				}
			}))
			followed := []schema.GroupVersionResource{customresources.Definitions}
			client := dynamic.NewForConfigOrDie(&rest.Config{Host: "https://localhost", Transport: apiServer})
			if got := orWhyUnlisted(starting, client, followed, errors.New("it took too long")); got.Error() != test.want {
				t.Errorf("%s: %v, want %s", test.reason, got, test.want)
			}
		})
	}
}
