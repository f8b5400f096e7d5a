package admissionpolicy

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/spec3"
)

// converters provides type converters, which merge apply configurations into objects of a kind. k8s.io/apiserver's
// implementation reads the server's schemas every few seconds. The implementation in this file makes the converters of
// custom resources from their CustomResourceDefinitions, so it uses a definition as soon as the definition is written.
type converters struct {
	// builtin converts the types that are known at build time. If it is nil, no type is known at build time.
	builtin managedfields.TypeConverter
	// definition returns the CustomResourceDefinition of a kind, or nil if there is none. The function itself may be
	// nil.
	definition func(schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition
	// openAPI returns a client for the server's OpenAPI documents. They have the types that neither builtin nor
	// definition has. openAPI isn't called when the plugin is made, because the server doesn't serve yet.
	openAPI func() openapi.Client

	mu sync.Mutex
	// published has the converters made from the OpenAPI document of a version. defined has the converters made from
	// a CustomResourceDefinition.
	published map[schema.GroupVersion]converter
	defined   map[schema.GroupVersionKind]definedConverter
}

// definedConverter is the converter of one CustomResourceDefinition. uid and resourceVersion tell whether the
// definition has changed. The generation doesn't tell this, because a definition that is restored from a snapshot has
// its old generation again.
type definedConverter struct {
	uid             types.UID
	resourceVersion string
	managedfields.TypeConverter
}

// converter is the converter of one OpenAPI document. The URL changes with the content of the document.
type converter struct {
	url string
	managedfields.TypeConverter
}

var _ patch.TypeConverterManager = &converters{}

// Run implements patch.TypeConverterManager. It returns at once, because converters are updated when they are used.
func (*converters) Run(context.Context) {}

// GetTypeConverter implements patch.TypeConverterManager.
func (c *converters) GetTypeConverter(kind schema.GroupVersionKind) managedfields.TypeConverter {
	if c.builtin != nil {
		probe := &unstructured.Unstructured{}
		probe.SetGroupVersionKind(kind)
		if _, err := c.builtin.ObjectToTyped(probe); err == nil {
			return c.builtin
		}
	}
	found, err := c.define(kind)
	if found == nil && err == nil {
		found, err = c.find(kind.GroupVersion())
	}
	if err != nil {
		utilruntime.HandleError(fmt.Errorf("policies can't apply changes to objects of %v, because the schema of the kind can't be made: %w", kind, err))
		return nil
	}
	return found
}

// define returns the converter of a custom resource. It returns nil if the kind has no definition.
func (c *converters) define(kind schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	if c.definition == nil {
		return nil, nil
	}
	definition := c.definition(kind)
	if definition == nil {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.defined[kind]; ok && known.uid == definition.UID && known.resourceVersion == definition.ResourceVersion {
		return known.TypeConverter, nil
	}
	document, err := builder.BuildOpenAPIV3(definition, kind.Version, builder.Options{})
	if err != nil {
		return nil, fmt.Errorf("the CustomResourceDefinition %s: %w", definition.Name, err)
	}
	made, err := managedfields.NewTypeConverter(document.Components.Schemas, false)
	if err != nil {
		return nil, fmt.Errorf("the schemas of the CustomResourceDefinition %s: %w", definition.Name, err)
	}
	if c.defined == nil {
		c.defined = map[schema.GroupVersionKind]definedConverter{}
	}
	// Remove the converters of deleted definitions, which would otherwise stay forever.
	maps.DeleteFunc(c.defined, func(kind schema.GroupVersionKind, _ definedConverter) bool { return c.definition(kind) == nil })
	c.defined[kind] = definedConverter{definition.UID, definition.ResourceVersion, made}
	return made, nil
}

// find returns the converter of a group and version, from the server's OpenAPI document. If the document has
// changed, find makes a new converter.
func (c *converters) find(gv schema.GroupVersion) (managedfields.TypeConverter, error) {
	paths, err := c.openAPI().Paths()
	if err != nil {
		return nil, fmt.Errorf("the server's list of OpenAPI documents, /openapi/v3: %w", err)
	}
	path := documentPath(gv)
	document, ok := paths[path]
	if !ok {
		return nil, fmt.Errorf("the server doesn't serve %s", strings.TrimPrefix(path, "apis/"))
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.published[gv]; ok && known.url == document.ServerRelativeURL() {
		return known.TypeConverter, nil
	}
	content, err := document.Schema(runtime.ContentTypeJSON)
	if err != nil {
		return nil, fmt.Errorf("the OpenAPI document /openapi/v3/%s: %w", path, err)
	}
	var parsed spec3.OpenAPI
	if err := json.Unmarshal(content, &parsed); err != nil {
		return nil, fmt.Errorf("the OpenAPI document /openapi/v3/%s must be JSON: %w", path, err)
	}
	if parsed.Components == nil {
		return nil, fmt.Errorf("the OpenAPI document /openapi/v3/%s must have the schemas of its kinds, and has no components", path)
	}
	made, err := managedfields.NewTypeConverter(parsed.Components.Schemas, false)
	if err != nil {
		return nil, fmt.Errorf("the schemas of the OpenAPI document /openapi/v3/%s: %w", path, err)
	}
	if c.published == nil {
		c.published = map[schema.GroupVersion]converter{}
	}
	maps.DeleteFunc(c.published, func(gv schema.GroupVersion, _ converter) bool { return paths[documentPath(gv)] == nil })
	c.published[gv] = converter{document.ServerRelativeURL(), made}
	return made, nil
}

// documentPath returns the path of a group and version in the server's list of OpenAPI documents.
func documentPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}
