// Package bygroup finds the custom resource definitions of a group without looking through those of all groups: a server
// may have thousands of definitions, and discovery and OpenAPI look for a group at each change.
package bygroup

import (
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// index is the name of the index in an informer.
const index = "group"

// Lister lists the definitions of an informer by their group.
type Lister struct{ indexer cache.Indexer }

// NewLister adds an index to an informer of definitions, and must be called once for an informer.
func NewLister(definitions cache.SharedIndexInformer) (Lister, error) {
	err := definitions.AddIndexers(cache.Indexers{index: func(obj any) ([]string, error) {
		crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
		if !ok {
			return nil, nil
		}
		return []string{crd.Spec.Group}, nil
	}})
	return Lister{definitions.GetIndexer()}, err
}

// Served returns the definitions of a group whose resources are served in some version, in the order of their names.
func (l Lister) Served(group string) []*apiextensionsv1.CustomResourceDefinition {
	found, err := l.indexer.ByIndex(index, group)
	if err != nil {
		return nil // the indexer has the index
	}
	var served []*apiextensionsv1.CustomResourceDefinition
	for _, obj := range found {
		crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
		if ok && apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) &&
			slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Served }) {
			served = append(served, crd)
		}
	}
	slices.SortFunc(served, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	return served
}

// Serving returns the definitions whose resources are served in a version, in the order of their names.
func (l Lister) Serving(gv schema.GroupVersion) []*apiextensionsv1.CustomResourceDefinition {
	return slices.DeleteFunc(l.Served(gv.Group), func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return !apihelpers.HasServedCRDVersion(crd, gv.Version)
	})
}
