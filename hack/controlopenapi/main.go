// Controlopenapi writes the OpenAPI document of the control protocol, from the operations and messages of package
// control and the comments of their fields, and what clients for other languages have of the document.
// hack/update-control.sh calls it.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/control"
)

// object is a JSON object.
type object = map[string]any

func main() {
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write writes the files below a folder, at the paths that they have in the repository.
func write(folder string) error {
	document, err := describe()
	if err != nil {
		return err
	}
	files, err := clientFiles(document)
	if err != nil {
		return err
	}
	files["pkg/miniapitest/engine/control/openapi.json"] = document
	for path, content := range files {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// describe returns the OpenAPI document.
func describe() ([]byte, error) {
	comments, err := commentsOf("pkg/miniapitest/engine", "pkg/miniapitest/engine/control")
	if err != nil {
		return nil, err
	}
	s := &schemas{comments: comments, all: object{"Error": nil}}
	s.all["Error"] = s.ofStruct(reflect.TypeFor[control.Error]())
	paths := map[string]object{}
	for _, operation := range control.Operations {
		if paths[operation.Path] == nil {
			paths[operation.Path] = object{}
		}
		paths[operation.Path][strings.ToLower(operation.Method)] = s.operation(operation)
	}
	var document bytes.Buffer
	encoder := json.NewEncoder(&document)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	err = encoder.Encode(object{
		"openapi":  "3.1.0",
		"info":     object{"title": "miniapi's control protocol", "version": control.Version},
		"security": []object{{"token": []string{}}},
		"paths":    paths,
		"components": object{
			"schemas":         s.all,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
		},
	})
	return document.Bytes(), err
}

// variable matches the variables of a path.
var variable = regexp.MustCompile(`\{(\w+)\}`)

// operation describes an operation.
func (s *schemas) operation(o control.Operation) object {
	var parameters []object
	for _, name := range variable.FindAllStringSubmatch(o.Path, -1) {
		parameters = append(parameters, object{"name": name[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, q := range o.Query {
		schema := object{"type": "string"}
		if q.Values != nil {
			schema["enum"] = q.Values
		}
		parameters = append(parameters, object{"name": q.Name, "in": "query", "description": q.Meaning, "schema": schema})
	}
	success := object{"description": "success"}
	switch {
	case o.Stream:
		success["content"] = object{"application/x-ndjson": object{"schema": s.of(reflect.TypeOf(o.Response))}}
	case o.Response != nil:
		success["content"] = object{"application/json": object{"schema": s.of(reflect.TypeOf(o.Response))}}
	}
	described := object{
		"operationId": o.Name, "summary": o.Summary,
		"responses": object{
			fmt.Sprint(o.Status): success,
			"default":            object{"description": "failure", "content": object{"application/json": object{"schema": object{"$ref": "#/components/schemas/Error"}}}},
		},
	}
	if len(parameters) > 0 {
		described["parameters"] = parameters
	}
	if o.Request != nil {
		request := s.of(reflect.TypeOf(o.Request))
		s.close(reflect.TypeOf(o.Request))
		described["requestBody"] = object{"content": object{"application/json": object{"schema": request}}}
	}
	return described
}

// schemas has the schemas of all types that a message needs.
type schemas struct {
	comments map[string]string // by TYPE or TYPE.FIELD
	all      object
}

// of returns the schema of a type, or a reference to the schema of a struct.
func (s *schemas) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return object{"type": "object"}
	case t == reflect.TypeFor[[]byte]():
		return object{"type": "string", "format": "byte"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Struct:
		if _, known := s.all[t.Name()]; !known {
			s.all[t.Name()] = nil // so that a type that refers to itself ends
			s.all[t.Name()] = s.ofStruct(t)
		}
		return object{"$ref": "#/components/schemas/" + t.Name()}
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	default:
		return object{"type": "integer"}
	}
}

// close makes the schema of a request's type refuse unknown fields, as the host does.
func (s *schemas) close(t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	schema, ok := s.all[t.Name()].(object)
	if !ok {
		return
	}
	schema["additionalProperties"] = false
	for _, field := range reflect.VisibleFields(t) {
		s.close(field.Type)
	}
}

func (s *schemas) ofStruct(t reflect.Type) object {
	properties, required := object{}, []string{}
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		owner := t
		if len(field.Index) > 1 {
			owner = t.FieldByIndex(field.Index[:len(field.Index)-1]).Type
		}
		schema := s.of(field.Type)
		if comment := s.comments[owner.Name()+"."+field.Name]; comment != "" {
			schema["description"] = comment
		}
		properties[name] = schema
		if options == "" {
			required = append(required, name)
		}
	}
	schema := object{"type": "object", "properties": properties, "description": s.comments[t.Name()]}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

// commentsOf returns the comments of the types in packages and of their fields.
func commentsOf(folders ...string) (map[string]string, error) {
	comments := map[string]string{}
	for _, folder := range folders {
		packages, err := parser.ParseDir(token.NewFileSet(), folder, func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, parser.ParseComments) //nolint:staticcheck // the packages have no build constraints
		if err != nil {
			return nil, err
		}
		for _, files := range packages {
			ast.Inspect(files, func(node ast.Node) bool {
				if declared, ok := node.(*ast.GenDecl); ok && declared.Tok == token.TYPE {
					for _, spec := range declared.Specs {
						addComments(comments, declared.Doc, spec.(*ast.TypeSpec)) //nolint:forcetypeassert // the declaration is one of types
					}
				}
				return true
			})
		}
	}
	return comments, nil
}

func addComments(comments map[string]string, doc *ast.CommentGroup, spec *ast.TypeSpec) {
	structure, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	comments[spec.Name.Name] = oneLine(doc)
	for _, field := range structure.Fields.List {
		for _, name := range field.Names {
			comments[spec.Name.Name+"."+name.Name] = oneLine(field.Doc)
		}
	}
}

// oneLine returns a comment as one line.
func oneLine(comment *ast.CommentGroup) string {
	return strings.Join(strings.Fields(comment.Text()), " ")
}
