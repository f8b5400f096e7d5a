package server

import (
	"net/http"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
)

// discoveryRecorder is the resource manager of /apis, which tells the barrier what it
// has been told.
type discoveryRecorder struct {
	aggregated.ResourceManager
	barrier *crdBarrier
	handler http.Handler
}

// serveFrom makes it serve the installed groups, too.
func (d *discoveryRecorder) serveFrom(all *installed) {
	d.handler = all.aggregated(d.ResourceManager, func(group string) bool { return group != "" })
}

func (d *discoveryRecorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	d.handler.ServeHTTP(w, req)
}

func (d *discoveryRecorder) WithSource(source aggregated.Source) aggregated.ResourceManager {
	return &discoveryRecorder{ResourceManager: d.ResourceManager.WithSource(source), barrier: d.barrier}
}

func (d *discoveryRecorder) AddGroupVersion(group string, version apidiscoveryv2.APIVersionDiscovery) {
	d.ResourceManager.AddGroupVersion(group, version)
	resources := map[string]bool{}
	for _, r := range version.Resources {
		resources[r.Resource] = true
	}
	d.barrier.resourcesChanged()
	d.barrier.update(func() {
		d.barrier.discovered[schema.GroupVersion{Group: group, Version: version.Version}] = resources
	})
}

func (d *discoveryRecorder) RemoveGroupVersion(gv metav1.GroupVersion) {
	d.ResourceManager.RemoveGroupVersion(gv)
	d.barrier.resourcesChanged()
	d.barrier.update(func() { delete(d.barrier.discovered, schema.GroupVersion{Group: gv.Group, Version: gv.Version}) })
}
