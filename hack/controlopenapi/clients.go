package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

//go:embed *.tmpl
var clientTemplates embed.FS

// clientPaths are the paths of the files of clients, by their templates.
var clientPaths = map[string]string{
	"options.java.tmpl": "clients/java/src/main/java/dev/miniapi/junit5/ProtocolOptions.java",
	"server.java.tmpl":  "clients/java/src/main/java/dev/miniapi/junit5/ProtocolServer.java",
	"options.rs.tmpl":   "clients/rust/src/options.rs",
	"protocol.ts.tmpl":  "clients/typescript/src/protocol.ts",
}

// unexported are the fields of messages that clients don't offer: those of the Go fixture, and those that clients need for
// something else that they offer.
var unexported = []string{
	"audit", "auditPolicy", "callers", "definitionManager", "definitions", "handler", "id", "installed", "kept", "leftover",
	"places", "ready", "services", "setup", "snapshots", "webhookCA",
}

// message is a message of the protocol.
type message struct {
	Doc    string
	Fields []field
}

// field is a field of a message. The type is that of JSON, or the name of a message. An array has [] before the type of its
// elements, and an object of any keys has {} before the type of its values.
type field struct {
	Message, Name, Doc, Type string
	Optional                 bool
}

// types are the types of fields in languages. In Java, they are the parameters of methods.
var types = map[string]map[string]string{
	"java": {
		"string": "String value", "boolean": "", "integer": "int value", "[]string": "String... values", "[]object": "Object... values",
		"{}string": "String name, String value", "{}boolean": "String name, boolean value",
		"Workloads": "", "[]User": "String name, String... groups",
	},
	"rust": {
		"string": "&'a str", "boolean": "bool", "integer": "Option<u32>", "[]string": "&'a [&'a str]", "[]object": "Vec<Value>",
		"{}string": "BTreeMap<&'a str, &'a str>", "{}boolean": "BTreeMap<&'a str, bool>",
		"Workloads": "Option<Workloads<'a>>", "[]User": "&'a [(&'a str, &'a [&'a str])]",
	},
	"typescript": {
		"string": "string", "boolean": "boolean", "integer": "number", "[]string": "string[]", "[]object": "KubernetesObject[]",
		"{}string": "Record<string, string>", "{}boolean": "Record<string, boolean>",
		"Workloads": "Workloads", "[]User": "User[]",
	},
}

// clientFiles returns the files of clients by their paths.
func clientFiles(document []byte) (map[string][]byte, error) {
	var api spec3.OpenAPI
	if err := json.Unmarshal(document, &api); err != nil {
		return nil, err
	}
	messages := map[string]message{}
	for name, schema := range api.Components.Schemas {
		messages[name] = messageOf(name, schema)
	}
	functions := template.FuncMap{
		"comment": comment, "phrase": phrase, "capital": capital, "snake": snake,
		"hasPrefix": strings.HasPrefix, "trimSuffix": strings.TrimSuffix,
		"type": func(language string, f field) (string, error) {
			if known, ok := types[language][f.Type]; ok {
				return known, nil
			}
			return "", fmt.Errorf("field %s: %s has no type in %s: must be in the table types", f.Name, f.Type, language)
		},
	}
	parsed, err := template.New("").Funcs(functions).ParseFS(clientTemplates, "*.tmpl")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, path := range clientPaths {
		var out bytes.Buffer
		if err := parsed.ExecuteTemplate(&out, name, messages); err != nil {
			return nil, err
		}
		files[path] = out.Bytes()
	}
	return files, nil
}

func messageOf(name string, schema *spec.Schema) message {
	m := message{Doc: schema.Description}
	for key, property := range schema.Properties {
		if !slices.Contains(unexported, key) {
			m.Fields = append(m.Fields, field{
				Message: name, Name: key, Doc: property.Description, Type: typeOf(&property),
				Optional: !slices.Contains(schema.Required, key),
			})
		}
	}
	slices.SortFunc(m.Fields, func(a, b field) int { return strings.Compare(a.Name, b.Name) })
	return m
}

func typeOf(schema *spec.Schema) string {
	switch {
	case schema.Ref.String() != "":
		return path.Base(schema.Ref.String())
	case schema.Items != nil:
		return "[]" + typeOf(schema.Items.Schema)
	case schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil:
		return "{}" + typeOf(schema.AdditionalProperties.Schema)
	}
	return schema.Type[0]
}

// named matches the beginning of a comment with the name of the field.
var named = regexp.MustCompile(`^\w+ (is |are )?`)

// phrase returns a comment without the name of the field.
func phrase(comment string) string { return named.ReplaceAllString(comment, "") }

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

var upper = regexp.MustCompile(`[A-Z]`)

// snake returns data_dir for dataDir.
func snake(name string) string { return strings.ToLower(upper.ReplaceAllString(name, "_$0")) }

// comment returns a text as a comment of documentation, whose lines have up to 120 characters. In languages whose mark
// isn't "///", the comment is a block.
func comment(mark, indent, text string) string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		if len(indent)+len("/// ")+len(*last)+len(word) >= 120 {
			lines = append(lines, word)
			continue
		}
		*last = strings.TrimSpace(*last + " " + word)
	}
	switch {
	case mark == "///":
		return indent + "/// " + strings.Join(lines, "\n"+indent+"/// ")
	case len(indent)+len("/**  */")+len(text) <= 120:
		return indent + "/** " + text + " */"
	}
	return indent + "/**\n" + indent + " * " + strings.Join(lines, "\n"+indent+" * ") + "\n" + indent + " */"
}
