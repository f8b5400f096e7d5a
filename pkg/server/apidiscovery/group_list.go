package apidiscovery

import (
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/routes"

	"github.com/miniapi-dev/miniapi/pkg/server/customresources/bygroup"
)

// List has the groups of built-in kinds, definitions and other servers, in the order of discovery. Its Documents serve
// /apis and /apis/GROUP. As a handler, a List serves /apis to clients that don't request aggregated discovery. The list of
// k8s.io/apiserver has the groups in the order in which they were added, so it can't be used.
type List struct {
	serializer runtime.NegotiatedSerializer
	groups     atomic.Pointer[func() []metav1.APIGroup] // nil until Groups.Sync has run
	crds       bygroup.Lister                           // crds, own and index are set before the first request
	own        map[schema.GroupVersion]bool             // the built-in group versions
	index      http.Handler                             // serves /apis
}

// NewList returns an empty list.
func NewList(serializer runtime.NegotiatedSerializer) *List { return &List{serializer: serializer} }

// Install serves the list of paths at /, and prepares what Documents serves at /apis: the list of groups, and aggregated
// discovery of the server and its peers. The list of paths joins the paths of the server s, of the argument installed and
// of the List itself. The handler withPeers is nil for a server without peers.
func (l *List) Install(s *genericapiserver.GenericAPIServer, installed routes.ListedPathProvider, withPeers http.Handler) {
	handler := aggregated.WrapAggregatedDiscoveryToHandler(l, s.AggregatedDiscoveryGroupManager, withPeers)
	l.index = handler
	// This web service only describes the path in OpenAPI: as in kube-apiserver, any method gets the list.
	s.Handler.GoRestfulContainer.Add(handler.GenerateWebService(genericapiserver.APIGroupPrefix, metav1.APIGroupList{}))
	routes.Index{}.Install(routes.ListedPathProviders{s, installed, l}, s.Handler.NonGoRestfulMux)
}

// listed returns the present groups.
func (l *List) listed() []metav1.APIGroup {
	if groups := l.groups.Load(); groups != nil {
		return (*groups)()
	}
	return nil
}

// Documents returns a handler that serves /apis, /apis/GROUP for each group of the list, and /apis/GROUP/VERSION for each
// version of custom resources. It passes other requests to next.
func (l *List) Documents(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case genericapiserver.APIGroupPrefix:
			l.index.ServeHTTP(w, req)
			return
		case genericapiserver.APIGroupPrefix + "/":
			l.ServeHTTP(w, req) // kube-apiserver has no aggregated discovery at this path
			return
		}
		if name, ok := strings.CutPrefix(req.URL.Path, genericapiserver.APIGroupPrefix+"/"); ok {
			if document := l.document(strings.TrimSuffix(name, "/")); document != nil {
				document.ServeHTTP(w, req)
				return
			}
		}
		next.ServeHTTP(w, req)
	})
}

// document returns the handler of the document of a group, or of a version of custom resources. It returns nil for
// other names.
func (l *List) document(name string) http.Handler {
	group, version, isVersion := strings.Cut(name, "/")
	switch {
	case strings.Contains(version, "/"):
	case isVersion:
		gv := schema.GroupVersion{Group: group, Version: version}
		if resources := listedResources(l.crds, gv); len(resources) > 0 && !l.own[gv] {
			lister := discovery.APIResourceListerFunc(func() []metav1.APIResource { return resources })
			// As in kube-apiserver, this document has no form in CBOR: client-go's discovery client can't decode CBOR.
			return discovery.NewAPIVersionHandler(crdserver.Codecs, gv, lister)
		}
	default:
		groups := l.listed()
		if i := slices.IndexFunc(groups, func(g metav1.APIGroup) bool { return g.Name == group }); i >= 0 {
			return discovery.NewAPIGroupHandler(l.serializer, groups[i])
		}
	}
	return nil
}

// ListedPaths implements routes.ListedPathProvider.
func (l *List) ListedPaths() []string {
	var paths []string
	for _, group := range l.listed() {
		paths = append(paths, path.Join(genericapiserver.APIGroupPrefix, group.Name))
		for _, version := range group.Versions {
			paths = append(paths, path.Join(genericapiserver.APIGroupPrefix, version.GroupVersion))
		}
	}
	return paths
}

// ServeHTTP implements http.Handler.
func (l *List) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	list := &metav1.APIGroupList{Groups: l.listed()}
	responsewriters.WriteObjectNegotiated(l.serializer, negotiation.DefaultEndpointRestrictions, schema.GroupVersion{}, w, req, http.StatusOK, list, false)
}
