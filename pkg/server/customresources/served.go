package customresources

import (
	"context"
	"net/http"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdlisters "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
)

// servedPeriod is how often the handler of custom resources is asked again.
const servedPeriod = time.Millisecond

// servedDefinitions knows by which definitions custom resources are served. The library's handler keeps the schemas and
// stores that it has made for a definition until its own informer handler is called with a change, and informer handlers
// are called at the same time. A request shows whether the library's handler has made the resource anew: it makes new
// stores then.
type servedDefinitions struct {
	// Both are set before the first request.
	handler http.Handler
	lister  crdlisters.CustomResourceDefinitionLister

	mu   sync.Mutex
	made map[schema.GroupResource]*apiextensionsv1.CustomResourceDefinition // what stores were made of last
}

// definition returns the definition of a kind, or nil.
func (s *servedDefinitions) definition(kind schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition {
	if s.lister == nil {
		return nil // the server is being made
	}
	definitions, err := s.lister.List(labels.Everything())
	if err != nil {
		return nil
	}
	for _, crd := range definitions {
		if crd.Spec.Group == kind.Group && crd.Status.AcceptedNames.Kind == kind.Kind && apihelpers.HasServedCRDVersion(crd, kind.Version) {
			return crd
		}
	}
	return nil
}

// RESTOptionsGetter notes for which definitions stores are made.
func (s *servedDefinitions) RESTOptionsGetter(inner generic.RESTOptionsGetter) generic.RESTOptionsGetter {
	return &notedOptions{inner, s}
}

type notedOptions struct {
	inner  generic.RESTOptionsGetter
	served *servedDefinitions
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (o *notedOptions) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	o.served.note(resource)
	return o.inner.GetRESTOptions(resource, example)
}

func (s *servedDefinitions) note(resource schema.GroupResource) {
	s.mu.Lock() // before the lookup, so that forget for a deleted definition comes later
	defer s.mu.Unlock()
	crd, err := s.lister.Get(resource.String())
	if err != nil {
		return
	}
	if s.made == nil {
		s.made = map[schema.GroupResource]*apiextensionsv1.CustomResourceDefinition{}
	}
	s.made[resource] = crd
}

// forget forgets a definition that is deleted, unless another one has its place already.
func (s *servedDefinitions) forget(crd *apiextensionsv1.CustomResourceDefinition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resource := schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
	if made := s.made[resource]; made != nil && made.UID == crd.UID {
		delete(s.made, resource)
	}
}

// await waits until requests are served by the definition, or by a later one. It asks the library's handler again and
// again: the handler tells nothing when it has been told of a change.
func (s *servedDefinitions) await(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) {
	if crd.DeletionTimestamp != nil || !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) || !s.stale(crd) {
		return
	}
	again := time.NewTicker(servedPeriod)
	defer again.Stop()
	for {
		if !s.ask(ctx, crd) || !s.stale(crd) {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// stale says whether there are stores of an earlier state of the definition. The generation doesn't tell: a restored
// definition has the generation that it had.
func (s *servedDefinitions) stale(crd *apiextensionsv1.CustomResourceDefinition) bool {
	s.mu.Lock()
	made := s.made[schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}]
	s.mu.Unlock()
	if made == nil || made.UID != crd.UID {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(made.ResourceVersion, crd.ResourceVersion)
	return err == nil && order < 0 && !apiequality.Semantic.DeepEqual(made.Spec, crd.Spec)
}

// ask makes a request for a subresource that no custom resource has. The handler refuses the request once it has made the
// resource. ask returns false if no version is served.
func (s *servedDefinitions) ask(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, v := range crd.Spec.Versions {
		if !v.Served {
			continue
		}
		info := &genericapirequest.RequestInfo{
			IsResourceRequest: true, Verb: "get", APIPrefix: "apis", APIGroup: crd.Spec.Group, APIVersion: v.Name,
			Resource: crd.Spec.Names.Plural, Name: "none", Subresource: "none",
		}
		if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
			info.Namespace = "none"
		}
		path := "/apis/" + info.APIGroup + "/" + info.APIVersion + "/" + info.Resource + "/none/none"
		request, err := http.NewRequestWithContext(genericapirequest.WithRequestInfo(ctx, info), http.MethodGet, path, http.NoBody)
		if err != nil {
			return false
		}
		s.handler.ServeHTTP(discarded{}, request)
		return true
	}
	return false
}

// Served yields the version and the path of each resource for which requests can be made: those of definitions, the
// custom resources, and their subresources.
func (r *Resources) Served(yield func(gv schema.GroupVersion, path string) bool) {
	for _, path := range []string{"customresourcedefinitions", "customresourcedefinitions/status"} {
		if !yield(apiextensionsv1.SchemeGroupVersion, path) {
			return
		}
	}
	definitions, err := r.barrier.served.lister.List(labels.Everything())
	if err != nil {
		return // the store of an informer returns no error
	}
	for _, crd := range definitions {
		for i := range crd.Spec.Versions {
			gv := schema.GroupVersion{Group: crd.Spec.Group, Version: crd.Spec.Versions[i].Name}
			for _, path := range servedPaths(crd, &crd.Spec.Versions[i]) {
				if !yield(gv, path) {
					return
				}
			}
		}
	}
}

// servedPaths are a custom resource and its subresources, if the version is served.
func servedPaths(crd *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion) []string {
	if !version.Served {
		return nil
	}
	paths := []string{crd.Spec.Names.Plural}
	if sub := version.Subresources; sub != nil && sub.Status != nil {
		paths = append(paths, crd.Spec.Names.Plural+"/status")
	}
	if sub := version.Subresources; sub != nil && sub.Scale != nil {
		paths = append(paths, crd.Spec.Names.Plural+"/scale")
	}
	return paths
}

// discarded is an answer without a reader.
type discarded http.Header

// Header implements http.ResponseWriter.
func (d discarded) Header() http.Header { return http.Header(d) }

// Write implements http.ResponseWriter.
func (discarded) Write(content []byte) (int, error) { return len(content), nil }

// WriteHeader implements http.ResponseWriter.
func (discarded) WriteHeader(int) {}
