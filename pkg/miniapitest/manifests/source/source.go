// Package source finds the places of objects and their fields in the YAML files of manifests, down to the line of a
// character in a text of several lines. [Files.Find] is the way in.
package source

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// Files are parsed files. The zero value is ready for use.
type Files struct{ byPath map[string]*file }

// file is a parsed file.
type file struct {
	lines     [][]rune
	documents []*yaml.Node
}

// Object is an object in a file.
type Object struct {
	Path string
	file *file
	node *yaml.Node
}

// Find returns the object of a kind and a name in a file, or in a folder's files, at any place: a document, an item of a list,
// or an object of a test file. It returns nil if there is none.
func (f *Files) Find(path, kind, name string) *Object {
	for _, path := range below(path) {
		parsed := f.parse(path)
		for _, document := range parsed.documents {
			if node := find(document, kind, name); node != nil {
				return &Object{path, parsed, node}
			}
		}
	}
	return nil
}

// Lines returns the lines of a file.
func (f *Files) Lines(path string) []string {
	var all []string
	for _, line := range f.parse(path).lines {
		all = append(all, string(line))
	}
	return all
}

// below returns the files of a path, which is a file or a folder with a kustomization.
func below(path string) []string {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}
	}
	var files []string
	_ = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error { // a folder that can't be read has no objects
		if err == nil && !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) {
			files = append(files, name)
		}
		return nil
	})
	return files
}

// parse parses a file. Of a file that can't be parsed, it returns the documents before the error: the loader of manifests
// reports the error.
func (f *Files) parse(path string) *file {
	if parsed, known := f.byPath[path]; known {
		return parsed
	}
	if f.byPath == nil {
		f.byPath = map[string]*file{}
	}
	content, _ := os.ReadFile(path)
	parsed := &file{}
	f.byPath[path] = parsed
	for _, line := range strings.Split(strings.TrimSuffix(string(content), "\n"), "\n") {
		parsed.lines = append(parsed.lines, []rune(strings.TrimSuffix(line, "\r")))
	}
	for documents := yaml.NewDecoder(bytes.NewReader(content)); ; {
		document := &yaml.Node{}
		if documents.Decode(document) != nil {
			return parsed
		}
		parsed.documents = append(parsed.documents, document)
	}
}

// find returns the first map with a kind and a name, at any depth.
func find(node *yaml.Node, kind, name string) *yaml.Node {
	if node.Kind == yaml.MappingNode {
		if metadata := child(node, "metadata"); text(child(node, "kind")) == kind && metadata != nil && text(child(metadata, "name")) == name {
			return node
		}
	}
	for _, inner := range node.Content {
		if found := find(inner, kind, name); found != nil {
			return found
		}
	}
	return nil
}

func text(node *yaml.Node) string {
	if node == nil {
		return ""
	}
	return node.Value
}

// child returns the value of a key of a map, or nil.
func child(node *yaml.Node, key string) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// Path is the path of a field: keys of maps as strings, and indices of lists as ints.
type Path []any

// ParsePath returns the path that errors have in the form of String.
func ParsePath(text string) Path {
	var path Path
	for _, step := range strings.FieldsFunc(text, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if index, err := strconv.Atoi(step); err == nil {
			path = path.With(index)
		} else {
			path = path.With(step)
		}
	}
	return path
}

// String returns the path as errors have it, such as spec.validations[0].expression.
func (p Path) String() string {
	var out strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&out, "[%d]", step)
		case string:
			if out.Len() > 0 {
				out.WriteByte('.')
			}
			out.WriteString(step)
		}
	}
	return out.String()
}

// Of returns the value at the path in an object, or nil if there is none.
func (p Path) Of(value any) any {
	for _, step := range p {
		switch step := step.(type) {
		case string:
			fields, _ := value.(map[string]any)
			value = fields[step]
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}

// With returns the path with further steps. It shares nothing with the path.
func (p Path) With(steps ...any) Path { return append(slices.Clone(p), steps...) }

// Line returns the line of a field, or of the nearest field above it that the file has.
func (o *Object) Line(path Path) int {
	node, _ := o.at(path)
	return node.Line
}

// LineOf returns the line of a character in the text of a field. The offset counts the characters of the text.
func (o *Object) LineOf(path Path, offset int) int {
	node, found := o.at(path)
	if !found || node.Kind != yaml.ScalarNode {
		return node.Line
	}
	return o.file.line(node, offset)
}

// hoisted are the fields of the versions of a custom resource definition that errors name as fields of spec, because all versions
// have the same value.
var hoisted = map[any]string{
	"validation": "schema", "subresources": "subresources", "additionalPrinterColumns": "additionalPrinterColumns", "selectableFields": "selectableFields",
}

// at returns the node of a field, or of the nearest field above it.
func (o *Object) at(path Path) (node *yaml.Node, found bool) {
	if text(child(o.node, "kind")) == "CustomResourceDefinition" && len(path) > 1 && hoisted[path[1]] != "" {
		path = append(Path{"spec", "versions", 0, hoisted[path[1]]}, path[2:]...)
	}
	node = o.node
	for _, step := range path {
		if node.Kind == yaml.AliasNode {
			node = node.Alias
		}
		var next *yaml.Node
		switch step := step.(type) {
		case string:
			next = child(node, step)
		case int:
			if node.Kind == yaml.SequenceNode && step < len(node.Content) {
				next = node.Content[step]
			}
		}
		if next == nil {
			return node, false
		}
		node = next
	}
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node, true
}

// line returns the line of a character in the text of a node. YAML folds, indents and quotes a text, but it keeps the order
// of the characters, so line goes through both at once and passes over what only the file has.
func (f *file) line(node *yaml.Node, offset int) int {
	line, column := node.Line-1, node.Column-1
	if node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		line, column = line+1, 0 // the text is below the indicator
	}
	at := line
	for i, wanted := range []rune(node.Value) {
		if i > offset {
			break
		}
		if unicode.IsSpace(wanted) {
			continue
		}
		for line < len(f.lines) {
			if column >= len(f.lines[line]) {
				line, column = line+1, 0
				continue
			}
			column++
			if f.lines[line][column-1] == wanted {
				at = line
				break
			}
		}
	}
	return at + 1
}
