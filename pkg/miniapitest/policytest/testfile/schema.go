package testfile

import (
	_ "embed" // for the comments of the types
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
)

//go:embed types.go
var source string

// Schema returns the JSON schema of test files. It follows from the types of this package, their tags and their comments.
func Schema() ([]byte, error) {
	comments, err := commentsOf(source)
	if err != nil {
		return nil, err
	}
	s := &schemas{comments: comments, definitions: map[string]any{}}
	root := s.of(reflect.TypeOf(AdmissionTest{}))
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["$id"] = "https://miniapi.dev/schemas/admissiontest.v1alpha1.json"
	root["title"] = Kind
	root["definitions"] = s.definitions
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

// commentsOf returns the comments of types and of their fields, by TYPE and TYPE.FIELD.
func commentsOf(source string) (map[string]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "types.go", source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	comments := map[string]string{}
	text := func(group *ast.CommentGroup) string { return strings.Join(strings.Fields(group.Text()), " ") }
	ast.Inspect(file, func(node ast.Node) bool {
		declared, ok := node.(*ast.GenDecl)
		if !ok {
			return true
		}
		for _, spec := range declared.Specs {
			named, isType := spec.(*ast.TypeSpec)
			if !isType {
				continue
			}
			comments[named.Name.Name] = text(declared.Doc)
			if fields, isStruct := named.Type.(*ast.StructType); isStruct {
				for _, field := range fields.Fields.List {
					for _, name := range field.Names {
						comments[named.Name.Name+"."+name.Name] = text(field.Doc)
					}
				}
			}
		}
		return false
	})
	return comments, nil
}

// schemas makes the schemas of types. The structs are definitions, to which the schemas of fields refer.
type schemas struct {
	comments    map[string]string
	definitions map[string]any
}

func (s *schemas) of(t reflect.Type) map[string]any {
	switch {
	case t == objectType:
		return map[string]any{"type": []string{"string", "object"}}
	case t.Kind() == reflect.Pointer:
		return s.of(t.Elem())
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case t.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case t.Kind() == reflect.Interface:
		return map[string]any{}
	case t.Kind() == reflect.Struct && t != reflect.TypeOf(AdmissionTest{}):
		if s.definitions[t.Name()] == nil {
			s.definitions[t.Name()] = map[string]any{} // the type may contain itself
			s.definitions[t.Name()] = s.structure(t)
		}
		return map[string]any{"$ref": "#/definitions/" + t.Name()}
	case t.Kind() == reflect.Struct:
		return s.structure(t)
	}
	return map[string]any{"type": map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer",
	}[t.Kind()]}
}

// structure returns the schema of a struct. If a field is short, its value may stand for the whole.
func (s *schemas) structure(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	var short map[string]any
	for _, f := range fieldsOf(t) {
		property := s.of(f.of)
		if f.enum != nil {
			property["enum"] = f.enum
		}
		if f.short {
			short = map[string]any{"type": property["type"]}
			if f.enum != nil {
				short["enum"] = f.enum
			}
		}
		comment := s.comments[f.owner.Name()+"."+f.goName]
		if _, refers := property["$ref"]; refers {
			property = map[string]any{"allOf": []any{property}}
		}
		property["description"] = comment
		properties[f.name] = property
		if f.required {
			required = append(required, f.name)
		}
	}
	object := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		object["required"] = required
	}
	if short == nil {
		object["description"] = s.comments[t.Name()]
		return object
	}
	return map[string]any{"description": s.comments[t.Name()], "anyOf": []any{short, object}}
}
