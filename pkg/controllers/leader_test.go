package controllers_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/controllers"
)

// The server that gets the Lease knows everything that its predecessor has stored before its controllers work. Otherwise
// they would create objects that exist.
func TestTheNextServerCatchesUpBeforeItWorks(t *testing.T) {
	t.Parallel()
	leases := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
			return
		}
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(leases.Close)
	var caughtUp atomic.Bool
	called, stored, worked := make(chan struct{}), make(chan struct{}), make(chan bool, 1)
	set, err := controllers.New(t.Context(), nil, controllers.Environment{
		ConfigOf:  func(string) *rest.Config { return &rest.Config{Host: leases.URL} },
		Informers: informers.NewSharedInformerFactory(fake.NewClientset(), 0),
		Shared:    true,
		CatchUp: func(ctx context.Context) error {
			close(called)
			select {
			case <-stored:
				caughtUp.Store(true)
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		Components: []controllers.Component{{Name: "scheduler", Add: func(h *controllers.Host) error {
			h.Runner.Go(func() {
				_ = h.Runner.Do(h.Runner.Life(), func(context.Context) error {
					worked <- caughtUp.Load()
					return nil
				})
			})
			return nil
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Close)
	if err := set.Start(); err != nil {
		t.Fatal(err)
	}
	<-called
	close(stored)
	if !<-worked {
		t.Error("the controllers have worked before the informers had all objects")
	}
}
