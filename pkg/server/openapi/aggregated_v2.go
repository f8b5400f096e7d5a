package openapi

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// withOthers returns this server's document in version 2 with the documents of other servers, each of which has a Value
// that isn't nil. If merged is the same document already, withOthers returns it.
//
// As in kube-apiserver, paths of this server take precedence. If two documents have different definitions of the same
// name, the definition of the later document gets another name.
func withOthers(merged *fragment, own []*fragment, others []cached.Result[*spec.Swagger]) (*fragment, error) {
	versions := []string{versionOf(own)}
	for _, document := range others {
		versions = append(versions, document.Etag)
	}
	version := strings.Join(versions, ",")
	if merged != nil && merged.version == version {
		return merged, nil
	}
	all := &spec.Swagger{}
	if err := all.UnmarshalJSON(joinJSON(own)); err != nil {
		return nil, fmt.Errorf("reading this server's OpenAPI document: %w", err)
	}
	for _, document := range others {
		if err := aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(all, unmerged(document.Value)); err != nil {
			return nil, fmt.Errorf("merging the OpenAPI documents of other servers: %w", err)
		}
	}
	return newFragment(version, all)
}

// unmerged returns a copy of a document whose maps a merge may change: kube-openapi adds the kinds of definitions.
func unmerged(swagger *spec.Swagger) *spec.Swagger {
	c := *swagger
	c.Definitions = maps.Clone(swagger.Definitions)
	for name, definition := range c.Definitions {
		if definition.Extensions != nil {
			definition.Extensions = maps.Clone(definition.Extensions)
			c.Definitions[name] = definition
		}
	}
	return &c
}
