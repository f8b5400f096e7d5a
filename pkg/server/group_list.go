package server

import (
	"net/http"
	"slices"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

// groupList serves /apis to clients that don't ask for aggregated discovery, in the order in which it is given the
// groups. The library's has them in the order in which they came, and can't change it.
type groupList struct {
	serializer runtime.NegotiatedSerializer
	groups     atomic.Pointer[[]metav1.APIGroup]
}

// install serves the list, and what the server says of its groups in aggregated discovery.
func (l *groupList) install(s *genericapiserver.GenericAPIServer) {
	handler := aggregated.WrapAggregatedDiscoveryToHandler(l, s.AggregatedDiscoveryGroupManager, nil)
	s.Handler.GoRestfulContainer.Add(handler.GenerateWebService(genericapiserver.APIGroupPrefix, metav1.APIGroupList{}))
}

// group is what is listed of a group.
func (l *groupList) group(name string) (metav1.APIGroup, bool) {
	groups := *l.groups.Load()
	i := slices.IndexFunc(groups, func(g metav1.APIGroup) bool { return g.Name == name })
	if i < 0 {
		return metav1.APIGroup{}, false
	}
	return groups[i], true
}

// ServeHTTP implements http.Handler.
func (l *groupList) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	list := &metav1.APIGroupList{Groups: *l.groups.Load()}
	responsewriters.WriteObjectNegotiated(l.serializer, negotiation.DefaultEndpointRestrictions, schema.GroupVersion{}, w, req, http.StatusOK, list, false)
}
