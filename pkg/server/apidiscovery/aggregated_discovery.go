package apidiscovery

import (
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
)

// Manager has the content of aggregated discovery at /apis. The built-in groups are added at the first request for
// aggregated discovery, because making their documents takes time.
type Manager struct {
	aggregated.ResourceManager
	handler http.Handler
	// filled returns a handler that makes sure that the manager has the built-in groups, and calls next.
	filled func(next http.Handler) http.Handler
	// OnGroupRemoved is called after RemoveGroup. The embedded ResourceManager calls its invalidation callback for
	// other changes, but not for RemoveGroup.
	OnGroupRemoved func()
}

// NewManager returns a resource manager of /apis.
func NewManager() *Manager {
	return &Manager{ResourceManager: aggregated.NewResourceManager("apis"), OnGroupRemoved: func() {}}
}

// ServeFrom makes the manager serve the built-in groups. The argument "filled" wraps a handler: before the first
// request, the wrapper gives the groups to the manager.
func (d *Manager) ServeFrom(filled func(http.Handler) http.Handler) {
	d.filled, d.handler = filled, filled(d.ResourceManager)
}

// Filled returns a handler that makes sure that the manager has the built-in groups, and calls next.
func (d *Manager) Filled(next http.Handler) http.Handler { return d.filled(next) }

// ServeHTTP implements http.Handler.
func (d *Manager) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	d.handler.ServeHTTP(w, req)
}

// WithSource implements aggregated.ResourceManager.
func (d *Manager) WithSource(source aggregated.Source) aggregated.ResourceManager {
	return &Manager{ResourceManager: d.ResourceManager.WithSource(source), OnGroupRemoved: d.OnGroupRemoved}
}

// RemoveGroup implements aggregated.ResourceManager.
func (d *Manager) RemoveGroup(group string) {
	d.ResourceManager.RemoveGroup(group)
	d.OnGroupRemoved()
}
