package catalog

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// AddSchemas adds OpenAPI schemas of Go types, which openapi-gen of k8s.io/kube-openapi generates. The method
// OpenAPI needs the schemas of all requests and responses.
func (c *Catalog) AddSchemas(definitions common.GetOpenAPIDefinitions) {
	c.schemas = append(c.schemas, definitions)
}

// OpenAPI returns an OpenAPI 3.0 document that describes all hooks. A hook is a POST to the path of its handlers.
// The last part of the path is the name of a handler. The path of a singleton hook, such as Discovery, has no
// such part.
func (c *Catalog) OpenAPI(info spec.Info) (*spec3.OpenAPI, error) {
	document := &spec3.OpenAPI{
		Version:    "3.0.0",
		Info:       &info,
		Paths:      &spec3.Paths{Paths: map[string]*spec3.Path{}},
		Components: &spec3.Components{Schemas: map[string]*spec.Schema{}},
	}
	schemas := newSchemas(c.schemas, document.Components.Schemas)
	var errs []error
	for _, d := range c.Hooks() {
		operation, err := d.operation(schemas)
		if err != nil {
			errs = append(errs, fmt.Errorf("hook %s: %w", d, err))
			continue
		}
		document.Paths.Paths[d.pathTemplate()] = &spec3.Path{PathProps: spec3.PathProps{Post: operation}}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return document, nil
}

func (d *Descriptor) pathTemplate() string {
	if d.Singleton {
		return d.Path("")
	}
	return d.Path("{name}")
}

func (d *Descriptor) operation(schemas *schemas) (*spec3.Operation, error) {
	request, err := schemas.content(d.request)
	if err != nil {
		return nil, err
	}
	response, err := schemas.content(d.response)
	if err != nil {
		return nil, err
	}
	operation := &spec3.Operation{OperationProps: spec3.OperationProps{
		Tags:        d.Tags,
		Summary:     d.Summary,
		Description: d.Description,
		OperationId: d.operationID(),
		Deprecated:  d.Deprecated,
		RequestBody: &spec3.RequestBody{RequestBodyProps: spec3.RequestBodyProps{Required: true, Content: request}},
		Responses: &spec3.Responses{ResponsesProps: spec3.ResponsesProps{StatusCodeResponses: map[int]*spec3.Response{
			200: {ResponseProps: spec3.ResponseProps{
				Description: "The handler has answered. Its status says whether it has succeeded.",
				Content:     response,
			}},
		}}},
	}}
	if !d.Singleton {
		operation.Parameters = []*spec3.Parameter{{ParameterProps: spec3.ParameterProps{
			Name:        "name",
			In:          "path",
			Description: "The name of the handler, which is unique in the extension.",
			Required:    true,
			Schema:      spec.StringProperty(),
		}}}
	}
	return operation, nil
}

// operationID returns the group, the version and the name of a hook in one word, such as
// hooksRuntimeClusterV1alpha1Discovery. It leaves out the suffix .x-k8s.io of the group.
func (d *Descriptor) operationID() string {
	parts := strings.Split(strings.TrimSuffix(d.Group, ".x-k8s.io"), ".")
	parts = append(parts, d.Version, d.Hook)
	for i, part := range parts[1:] {
		parts[i+1] = strings.ToUpper(part[:1]) + part[1:]
	}
	return strings.Join(parts, "")
}

// schemas collects the schemas that a document refers to. They become the document's components.
type schemas struct {
	known      map[string]common.OpenAPIDefinition
	components map[string]*spec.Schema
}

func newSchemas(getters []common.GetOpenAPIDefinitions, components map[string]*spec.Schema) *schemas {
	s := &schemas{known: map[string]common.OpenAPIDefinition{}, components: components}
	for _, definitions := range getters {
		for name, definition := range definitions(reference) {
			s.known[name] = definition
		}
	}
	return s
}

// content returns the description of a JSON body of a type. It refers to the schema of the type.
func (s *schemas) content(t reflect.Type) (map[string]*spec3.MediaType, error) {
	name := modelName(t)
	if err := s.add(name); err != nil {
		return nil, err
	}
	return map[string]*spec3.MediaType{"application/json": {MediaTypeProps: spec3.MediaTypeProps{
		Schema: &spec.Schema{SchemaProps: spec.SchemaProps{Ref: reference(name)}},
	}}}, nil
}

// add adds the schema of a type, and all schemas to which it refers.
func (s *schemas) add(name string) error {
	if s.components[component(name)] != nil {
		return nil
	}
	definition, ok := s.known[name]
	if !ok {
		return fmt.Errorf("the catalog has no schema of type %s: add the schema by AddSchemas", name)
	}
	schema := definition.Schema
	delete(schema.Extensions, common.ExtensionV2Schema) // the schema in OpenAPI 2.0, which isn't used
	s.components[component(name)] = &schema
	for _, dependency := range definition.Dependencies {
		if err := s.add(dependency); err != nil {
			return err
		}
	}
	return nil
}

// modelName returns the name of a type in the generated schemas. It is the result of the type's method
// OpenAPIModelName, or else the name of the Go type. A type that embeds metav1.TypeMeta inherits a method
// OpenAPIModelName, which modelName ignores.
func modelName(t reflect.Type) string {
	named, ok := reflect.New(t).Interface().(util.OpenAPIModelNamer)
	if !ok {
		return t.PkgPath() + "." + t.Name()
	}
	for f := range t.Fields() {
		if embedded, ok := reflect.New(f.Type).Interface().(util.OpenAPIModelNamer); f.Anonymous && ok && embedded.OpenAPIModelName() == named.OpenAPIModelName() {
			return t.PkgPath() + "." + t.Name()
		}
	}
	return named.OpenAPIModelName()
}

// component returns the name of a schema in the document. A slash in the name of the type is replaced, because it
// would separate parts of a reference.
func component(name string) string { return strings.ReplaceAll(name, "/", ".") }

func reference(name string) spec.Ref {
	return spec.MustCreateRef("#/components/schemas/" + component(name))
}
