package groups

import (
	"net/http"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Handler serves the groups of a registry.Table, and passes other requests to Next. It replaces the PathRecorderMux of
// k8s.io/apiserver for the groups. For each added path, that mux makes a stack trace and a copy of all paths. For the
// paths of all groups, this would take a third of the time of a start.
type Handler struct {
	// Next serves the requests that aren't for the groups of the registry.Table.
	Next http.Handler
	// Served points to the groups. It holds nil until the groups are installed.
	Served *atomic.Pointer[Groups]
}

// ServeHTTP implements http.Handler.
func (g Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	handler := g.Next
	if served := g.Served.Load(); served != nil {
		if h := served.handler(req.URL.Path); h != nil {
			handler = h
		}
	}
	handler.ServeHTTP(w, req)
}

// handler returns the handler of /api, of /apis/apiregistration.k8s.io, or of a path below a group: a version, or a
// version that the group doesn't have. For any other path it returns nil.
func (i *Groups) handler(path string) http.Handler {
	switch strings.TrimSuffix(path, "/") {
	case genericapiserver.DefaultLegacyAPIPrefix:
		return i.legacy
	case genericapiserver.APIGroupPrefix + "/" + apiregistrationv1.GroupName:
		return i.aggregation
	}
	gv, ok := groupVersionOf(path)
	if !ok || !i.groups.Has(gv.Group) {
		return nil
	}
	if v, ok := i.versions[gv]; ok {
		return v
	}
	return i.unknown
}

// groupVersionOf returns the group version that a path begins with: /api/VERSION or /apis/GROUP/VERSION.
func groupVersionOf(path string) (gv schema.GroupVersion, ok bool) {
	if rest, ok := strings.CutPrefix(path, genericapiserver.DefaultLegacyAPIPrefix+"/"); ok {
		gv.Version, _, _ = strings.Cut(rest, "/")
		return gv, true
	}
	rest, ok := strings.CutPrefix(path, genericapiserver.APIGroupPrefix+"/")
	gv.Group, rest, _ = strings.Cut(rest, "/")
	gv.Version, _, _ = strings.Cut(rest, "/")
	return gv, ok && gv.Group != "" && rest != ""
}

// ListedPaths implements routes.ListedPathProvider.
func (i *Groups) ListedPaths() []string {
	var paths []string
	if i.legacy != nil {
		paths = append(paths, genericapiserver.DefaultLegacyAPIPrefix)
	}
	for _, v := range i.versions {
		paths = append(paths, v.root)
	}
	return paths
}
