package openapi

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// withOthers adds the documents of other servers to this server's document in version 2. The function others returns
// these documents, each with a Value that isn't nil. The merged document is built anew after one of the documents has
// changed.
//
// As in kube-apiserver, paths of this server take precedence. If two documents have different definitions of the same
// name, the definition of the later document gets another name.
func withOthers(own cached.Value[*spec.Swagger], others func() []cached.Result[*spec.Swagger]) cached.Value[*spec.Swagger] {
	var mu sync.Mutex
	var merged *spec.Swagger
	var mergedOf string
	return cached.Func(func() (*spec.Swagger, string, error) {
		mu.Lock()
		defer mu.Unlock()
		swagger, etag, err := own.Get()
		documents := others()
		if err != nil || len(documents) == 0 {
			merged, mergedOf = nil, ""
			return swagger, etag, err
		}
		etags := []string{etag}
		for _, document := range documents {
			etags = append(etags, document.Etag)
		}
		if etag = strings.Join(etags, ","); etag == mergedOf {
			return merged, etag, nil
		}
		all := unmerged(swagger)
		for _, document := range documents {
			if err := aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(all, unmerged(document.Value)); err != nil {
				return nil, "", fmt.Errorf("merging the OpenAPI documents of other servers: %w", err)
			}
		}
		merged, mergedOf = all, etag
		return merged, etag, nil
	})
}

// unmerged returns a copy of a document whose maps a merge may change: kube-openapi adds paths, definitions,
// parameters, and the kinds of definitions.
func unmerged(swagger *spec.Swagger) *spec.Swagger {
	c := *swagger
	c.Definitions, c.Parameters = maps.Clone(swagger.Definitions), maps.Clone(swagger.Parameters)
	for name, definition := range c.Definitions {
		if definition.Extensions != nil {
			definition.Extensions = maps.Clone(definition.Extensions)
			c.Definitions[name] = definition
		}
	}
	if swagger.Paths != nil {
		paths := *swagger.Paths
		paths.Paths = maps.Clone(swagger.Paths.Paths)
		c.Paths = &paths
	}
	return &c
}
