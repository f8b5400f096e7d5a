package manifests

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Lines finds the lines of fields in the files of objects. It keeps the files that it has read, by their names.
type Lines map[string][]*yaml.Node

// FileOf splits the Source of an object, FILE, document N, into the file and the index of the document. The index is -1
// if the object isn't from a file.
func FileOf(source string) (file string, index int) {
	file, number, _ := strings.Cut(source, ", document ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return file, -1
	}
	return file, n - 1
}

// Of returns the line of an object's field, such as spec.validations[0].expression, or of the nearest field around it. It
// returns 0 if the object isn't from a file.
func (l Lines) Of(object Object, field string) int {
	file, index := FileOf(object.Source)
	documents, read := l[file]
	if !read {
		documents = parse(file)
		l[file] = documents
	}
	if index < 0 || index >= len(documents) {
		return 0
	}
	node := named(documents[index], object.GetKind(), object.GetName())
	if node == nil {
		return 0
	}
	line := node.Line
	for _, step := range steps(field) {
		key, inner := child(node, step)
		if inner == nil {
			break
		}
		node, line = inner, key.Line
	}
	return line
}

// parse returns the documents of a file, up to one that can't be parsed.
func parse(file string) []*yaml.Node {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil // such as standard input
	}
	var documents []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		node := &yaml.Node{}
		if decoder.Decode(node) != nil {
			return documents
		}
		if len(node.Content) > 0 {
			node = node.Content[0]
		}
		documents = append(documents, node)
	}
}

// named returns the object with a kind and a name: the document itself, or an item of a list.
func named(node *yaml.Node, kind, name string) *yaml.Node {
	text := func(node *yaml.Node, path ...string) string {
		for _, step := range path {
			if _, node = child(node, step); node == nil {
				return ""
			}
		}
		return node.Value
	}
	if text(node, "kind") == kind && text(node, "metadata", "name") == name {
		return node
	}
	_, items := child(node, "items")
	if items == nil {
		return nil
	}
	for _, item := range items.Content {
		if found := named(item, kind, name); found != nil {
			return found
		}
	}
	return nil
}

// child returns the key and the value of a map, or twice the element of a list with an index, or nil.
func child(node *yaml.Node, step string) (key, value *yaml.Node) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i], node.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if n, err := strconv.Atoi(step); err == nil && n >= 0 && n < len(node.Content) {
			return node.Content[n], node.Content[n]
		}
	}
	return nil, nil
}

// steps returns the keys and the indices of a path such as spec.validations[0].expression.
func steps(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}
