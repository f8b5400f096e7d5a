package discovery

import (
	"net/http"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
)

// Observer is called with the resources that a Recorder discovers.
type Observer interface {
	Discovered(gv schema.GroupVersion, resources map[string]apidiscoveryv2.APIResourceDiscovery)
	VersionRemoved(gv schema.GroupVersion)
	GroupRemoved(group string)
}

// Recorder is the resource manager of /apis. It passes changes on to an observer.
type Recorder struct {
	aggregated.ResourceManager
	observer Observer
	handler  http.Handler
	// filled returns a handler that gives the installed groups to the manager before it calls next.
	filled func(next http.Handler) http.Handler
	// OnGroupRemoved is called when a group is removed. The manager doesn't call its own callback then.
	OnGroupRemoved func()
	// added are the resources of the last call of AddGroupVersion. One goroutine calls it, and then
	// SetGroupVersionPriority for the same version.
	added map[string]apidiscoveryv2.APIResourceDiscovery
}

// NewRecorder returns a resource manager of /apis.
func NewRecorder(observer Observer) *Recorder {
	return &Recorder{ResourceManager: aggregated.NewResourceManager("apis"), observer: observer, OnGroupRemoved: func() {}}
}

// ServeFrom makes the recorder serve the installed groups, too. The function filled makes handlers that give these
// groups to the manager before the first request.
func (d *Recorder) ServeFrom(filled func(http.Handler) http.Handler) {
	d.filled, d.handler = filled, filled(d.ResourceManager)
}

// Filled returns a handler that calls next once the manager has the installed groups.
func (d *Recorder) Filled(next http.Handler) http.Handler { return d.filled(next) }

// ServeHTTP implements http.Handler.
func (d *Recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	d.handler.ServeHTTP(w, req)
}

// WithSource implements aggregated.ResourceManager.
func (d *Recorder) WithSource(source aggregated.Source) aggregated.ResourceManager {
	return &Recorder{ResourceManager: d.ResourceManager.WithSource(source), observer: d.observer, OnGroupRemoved: d.OnGroupRemoved}
}

// AddGroupVersion implements aggregated.ResourceManager.
func (d *Recorder) AddGroupVersion(group string, version apidiscoveryv2.APIVersionDiscovery) {
	d.ResourceManager.AddGroupVersion(group, version)
	d.added = map[string]apidiscoveryv2.APIResourceDiscovery{}
	for _, r := range version.Resources {
		d.added[r.Resource] = r
	}
}

// SetGroupVersionPriority calls the observer: apiextensions-apiserver sets the priority last, and before that, the
// version isn't in its place in the group.
func (d *Recorder) SetGroupVersionPriority(gv metav1.GroupVersion, group, version int) {
	d.ResourceManager.SetGroupVersionPriority(gv, group, version)
	d.observer.Discovered(schema.GroupVersion(gv), d.added)
}

// RemoveGroup implements aggregated.ResourceManager.
func (d *Recorder) RemoveGroup(group string) {
	d.ResourceManager.RemoveGroup(group)
	d.OnGroupRemoved()
	d.observer.GroupRemoved(group)
}

// RemoveGroupVersion implements aggregated.ResourceManager.
func (d *Recorder) RemoveGroupVersion(gv metav1.GroupVersion) {
	d.ResourceManager.RemoveGroupVersion(gv)
	d.observer.VersionRemoved(schema.GroupVersion(gv))
}
