package manifests

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// kinds maps the kinds of objects to the resources of a server. It requests only the discovery documents of the
// objects' versions: the documents of all versions are a hundred times as large, and requesting them takes longer than
// applying a dozen objects.
type kinds struct {
	client rest.Interface
	// all maps a kind by the discovery documents of all versions, if the document of the kind's own version lacks the
	// kind.
	all *restmapper.DeferredDiscoveryRESTMapper

	mu       sync.Mutex
	versions map[schema.GroupVersion][]metav1.APIResource
}

// mapping returns the mapping of a kind. If the kind isn't served, meta.IsNoMatchError recognizes the error.
func (k *kinds) mapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	// Every server serves the kind of definitions, so this kind needs no discovery. Discovery would take a tenth of
	// the time in which a small definition is applied.
	if gvk == DefinitionKind {
		return &meta.RESTMapping{Resource: definitions, GroupVersionKind: gvk, Scope: meta.RESTScopeRoot}, nil
	}
	if mapping := k.inVersion(ctx, gvk); mapping != nil {
		return mapping, nil
	}
	mapping, err := k.all.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		k.all.Reset()
		mapping, err = k.all.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	return mapping, err
}

// inVersion returns the mapping of a kind from the discovery document of its version. It returns nil if the document
// doesn't have the kind.
func (k *kinds) inVersion(ctx context.Context, gvk schema.GroupVersionKind) *meta.RESTMapping {
	k.mu.Lock()
	defer k.mu.Unlock()
	gv := gvk.GroupVersion()
	if mapping := mappingIn(k.versions[gv], gvk); mapping != nil {
		return mapping
	}
	if k.versions == nil {
		k.versions = map[schema.GroupVersion][]metav1.APIResource{}
	}
	k.versions[gv] = served(ctx, k.client, gv) // a definition may have added the kind since the last request
	return mappingIn(k.versions[gv], gvk)
}

// served returns the resources of a group version. It returns nil if the document of the version can't be read.
func served(ctx context.Context, client rest.Interface, gv schema.GroupVersion) []metav1.APIResource {
	data, err := in(client.Get(), gv).Do(ctx).Raw()
	var document metav1.APIResourceList
	if err == nil {
		err = json.Unmarshal(data, &document)
	}
	if err != nil {
		return nil
	}
	return document.APIResources
}

func mappingIn(resources []metav1.APIResource, gvk schema.GroupVersionKind) *meta.RESTMapping {
	for _, resource := range resources {
		if resource.Kind != gvk.Kind || strings.Contains(resource.Name, "/") {
			continue
		}
		mapping := &meta.RESTMapping{Resource: gvk.GroupVersion().WithResource(resource.Name), GroupVersionKind: gvk, Scope: meta.RESTScopeRoot}
		if resource.Namespaced {
			mapping.Scope = meta.RESTScopeNamespace
		}
		return mapping
	}
	return nil
}

// in returns the request with the path of the group version.
func in(request *rest.Request, gv schema.GroupVersion) *rest.Request {
	if gv.Group == "" {
		return request.AbsPath("api", gv.Version)
	}
	return request.AbsPath("apis", gv.Group, gv.Version)
}
