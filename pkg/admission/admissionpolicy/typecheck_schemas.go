package admissionpolicy

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/generatedopenapi"
)

// builtinSchemas resolves the schemas of types that are known at build time. It is shared by all servers of the
// process.
var builtinSchemas = sync.OnceValue(func() *resolver.DefinitionsSchemaResolver {
	return resolver.NewDefinitionsSchemaResolver(generatedopenapi.GetOpenAPIDefinitions, builtin.Table().Scheme())
})

// newSchemas returns the resolver of schemas for the type check of policies. The resolver looks for a schema in this
// order: types that are known at build time, the definitions of custom resources (unless definition is nil), and the
// OpenAPI documents of the server.
func newSchemas(definition func(schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition, server discovery.DiscoveryInterface) resolver.SchemaResolver {
	return builtinSchemas().Combine(&definedSchemas{definition, &resolver.ClientDiscoveryResolver{Discovery: server}})
}

// definedSchemas resolves the schemas of custom resources from their CustomResourceDefinitions. A request to the server
// would be slower: the server publishes a schema some milliseconds later, and builds the OpenAPI documents of all
// versions for the first request.
type definedSchemas struct {
	definition func(schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition
	others     resolver.SchemaResolver
}

// ResolveSchema implements resolver.SchemaResolver.
func (d *definedSchemas) ResolveSchema(kind schema.GroupVersionKind) (*spec.Schema, error) {
	var definition *apiextensionsv1.CustomResourceDefinition
	if d.definition != nil {
		definition = d.definition(kind)
	}
	if definition == nil {
		return d.others.ResolveSchema(kind)
	}
	document, err := builder.BuildOpenAPIV3(definition, kind.Version, builder.Options{})
	if err != nil {
		return nil, fmt.Errorf("schema of %s in %s: %w", kind.Kind, definition.Name, err)
	}
	schemas := document.Components.Schemas
	for name, found := range schemas {
		var kinds []schema.GroupVersionKind
		if err := found.Extensions.GetObject("x-kubernetes-group-version-kind", &kinds); err != nil {
			return nil, fmt.Errorf("kind of %s: %w", name, err)
		}
		if slices.Contains(kinds, kind) {
			return resolver.PopulateRefs(func(ref string) (*spec.Schema, bool) {
				s, ok := schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
				return s, ok
			}, name)
		}
	}
	return nil, fmt.Errorf("schema of %s in %s, version %s: %w", kind.Kind, definition.Name, kind.Version, resolver.ErrSchemaNotFound)
}
