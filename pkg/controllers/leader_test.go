package controllers_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/controllers"
)

// serveLease serves a Lease, which doesn't exist at first, and calls written with each version of it.
func serveLease(t *testing.T, written func(coordinationv1.Lease)) *httptest.Server {
	t.Helper()
	var mu sync.Mutex
	var lease []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method != http.MethodGet:
			var now coordinationv1.Lease
			lease, _ = io.ReadAll(r.Body) // a body that lacks a part is no JSON
			if err := json.Unmarshal(lease, &now); err != nil {
				t.Error(err)
			}
			written(now)
		case lease == nil:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
			return
		}
		_, _ = w.Write(lease)
	}))
	t.Cleanup(server.Close)
	return server
}

// startShared starts the controllers of one of several servers, with a component.
func startShared(t *testing.T, leases *httptest.Server, catchUp func(context.Context) error, add func(*controllers.Host)) *controllers.Set {
	t.Helper()
	set, err := controllers.New(t.Context(), nil, controllers.Environment{
		ConfigOf: func(string) *rest.Config {
			return &rest.Config{Host: leases.URL, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}
		},
		Informers: informers.NewSharedInformerFactory(fake.NewClientset(), 0),
		Shared:    true,
		CatchUp:   catchUp,
		Components: []controllers.Component{{Name: "component", Add: func(h *controllers.Host) error {
			add(h)
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
	return set
}

// work calls f as soon as the server may work.
func work(h *controllers.Host, f func()) {
	h.Runner.Go(func() {
		_ = h.Runner.Do(h.Runner.Life(), func(context.Context) error {
			f()
			return nil
		})
	})
}

// A server ends what goes on without the work of its controllers before it gives the Lease up.
func TestTheLeaseIsGivenUpLast(t *testing.T) {
	t.Parallel()
	var lost atomic.Bool
	worked, released := make(chan struct{}), make(chan bool, 1)
	leases := serveLease(t, func(lease coordinationv1.Lease) {
		if ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
			released <- lost.Load()
		}
	})
	set := startShared(t, leases, func(context.Context) error { return nil }, func(h *controllers.Host) {
		h.OnLoss(func() { lost.Store(true) })
		work(h, func() { close(worked) })
	})
	<-worked
	set.Leave(t.Context())
	if !<-released {
		t.Error("the Lease was given up before the component had ended its part")
	}
}

// The server that gets the Lease knows everything that its predecessor has stored before its controllers work. Otherwise
// they would create objects that exist.
func TestTheNextServerCatchesUpBeforeItWorks(t *testing.T) {
	t.Parallel()
	leases := serveLease(t, func(coordinationv1.Lease) {})
	var caughtUp atomic.Bool
	called, stored, worked := make(chan struct{}), make(chan struct{}), make(chan bool, 1)
	startShared(t, leases, func(ctx context.Context) error {
		close(called)
		select {
		case <-stored:
			caughtUp.Store(true)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, func(h *controllers.Host) { work(h, func() { worked <- caughtUp.Load() }) })
	<-called
	close(stored)
	if !<-worked {
		t.Error("the controllers have worked before the informers had all objects")
	}
}
