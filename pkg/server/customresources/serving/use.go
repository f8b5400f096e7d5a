package serving

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"

	"github.com/miniapi-dev/miniapi/pkg/condition"
)

// last is the least time for which a watch continues after the end of its definition, so that the watch gets the last
// events. The library's handlers wait for the same time.
const last = time.Second

// use is the use of a shared handler by one server. It begins with the first request for a definition, and ends when
// the definition changes or is deleted.
type use struct {
	definition *apiextensionsv1.CustomResourceDefinition
	server     *Server
	handler    *shared
	// requests counts the requests in progress, except for watches.
	requests condition.Variable[int]

	mu     sync.Mutex
	opened map[*store]openedStore // nil before the first call of a store
	ended  bool
}

// openedStore is a store in the server's etcd, and the function that ends the store and its watches.
type openedStore struct {
	storage.Interface
	destroy factory.DestroyFunc
}

// of returns the server's store that corresponds to a store of the shared handler. The first call opens the stores of
// all versions, because a client may begin a watch of one version with the resourceVersion of another version's list.
func (u *use) of(wanted *store) (storage.Interface, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended {
		return nil, fmt.Errorf("%s: the definition has changed or is deleted: try the request again", u.definition.Name)
	}
	if u.opened == nil {
		opened := map[*store]openedStore{}
		for _, s := range u.handler.stores {
			store, destroy, err := s.open(u.server.Stores)
			if err != nil {
				for _, o := range opened {
					o.destroy()
				}
				return nil, err
			}
			opened[s] = openedStore{store, destroy}
		}
		u.opened = opened
	}
	return u.opened[wanted].Interface, nil
}

// begin counts a request in progress, until done is called.
func (u *use) begin() { u.requests.Update(func(n *int) { *n++ }) }

func (u *use) done() { u.requests.Update(func(n *int) { *n-- }) }

// end ends the stores and their watches. It first waits for the requests in progress, but no longer than twice the
// RequestTimeout. It waits for the time "last" at least.
func (u *use) end() {
	late, cancel := context.WithTimeout(context.Background(), 2*u.server.Limits.RequestTimeout)
	defer cancel()
	<-time.After(last)
	_ = u.requests.Wait(late, func(n int) bool { return n == 0 })
	u.mu.Lock()
	opened := u.opened
	u.opened, u.ended = nil, true
	u.mu.Unlock()
	for _, o := range opened {
		o.destroy()
	}
}

type useKey struct{}

// in returns a context with this use. The shared handler finds its server by the context.
func (u *use) in(ctx context.Context) context.Context { return context.WithValue(ctx, useKey{}, u) }

var errNoServer = errors.New("a handler of custom resources is called without a server")

// useOf returns the use that the method in has stored in the context.
func useOf(ctx context.Context) (*use, error) {
	if u, ok := ctx.Value(useKey{}).(*use); ok {
		return u, nil
	}
	return nil, errNoServer
}
