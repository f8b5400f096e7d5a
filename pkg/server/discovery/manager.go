package discovery

import (
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
)

// Manager is the resource manager of /apis. It also has the installed groups.
type Manager struct {
	aggregated.ResourceManager
	handler http.Handler
	// filled returns a handler that gives the installed groups to the manager before it calls next.
	filled func(next http.Handler) http.Handler
	// OnGroupRemoved is called when a group is removed. The library's manager doesn't call its own callback then.
	OnGroupRemoved func()
}

// NewManager returns a resource manager of /apis.
func NewManager() *Manager {
	return &Manager{ResourceManager: aggregated.NewResourceManager("apis"), OnGroupRemoved: func() {}}
}

// ServeFrom makes the manager serve the installed groups, too. The function filled makes handlers that give these
// groups to the manager before the first request.
func (d *Manager) ServeFrom(filled func(http.Handler) http.Handler) {
	d.filled, d.handler = filled, filled(d.ResourceManager)
}

// Filled returns a handler that calls next once the manager has the installed groups.
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
