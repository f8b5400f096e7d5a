package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// sections are the members of an OpenAPI v2 document that map names to descriptions. Fragments of a document add names
// to them.
var sections = []string{"definitions", "parameters", "paths"}

// fragment is an OpenAPI v2 document, or a part of one that has only sections besides the members "swagger" and "info".
// It is encoded, which takes a sixth of the memory of a spec.Swagger, and can be joined with other fragments.
type fragment struct {
	// version differs between fragments with different content.
	version string
	// members are the members of the document other than sections.
	members map[string]json.RawMessage
	// sections maps the name of each section to its content.
	sections map[string]map[string]json.RawMessage
	// protobuf returns the fragment in protobuf. It is encoded at the first call.
	protobuf func() ([]byte, error)
}

func newFragment(version string, swagger *spec.Swagger) (*fragment, error) {
	f := &fragment{version: version, sections: map[string]map[string]json.RawMessage{}}
	rest := *swagger
	rest.Definitions, rest.Parameters, rest.Paths = nil, nil, nil
	members, err := rest.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var paths map[string]spec.PathItem
	if swagger.Paths != nil {
		paths = swagger.Paths.Paths
	}
	if err := errors.Join(
		json.Unmarshal(members, &f.members),
		encodeSection(f, "definitions", swagger.Definitions), encodeSection(f, "parameters", swagger.Parameters), encodeSection(f, "paths", paths),
	); err != nil {
		return nil, err
	}
	f.protobuf = sync.OnceValues(func() ([]byte, error) { return handler.ToProtoBinary(joinJSON([]*fragment{f})) })
	return f, nil
}

func encodeSection[T json.Marshaler](f *fragment, name string, content map[string]T) error {
	f.sections[name] = make(map[string]json.RawMessage, len(content))
	for key, value := range content {
		encoded, err := value.MarshalJSON()
		if err != nil {
			return fmt.Errorf("encoding %q of %q: %w", key, name, err)
		}
		f.sections[name][key] = encoded
	}
	return nil
}

// joinJSON returns the document that consists of the fragments, in JSON. The first fragment has the members other than
// sections. If several fragments have the same name in a section, the document has the description of the last one.
func joinJSON(fragments []*fragment) []byte {
	members := maps.Clone(fragments[0].members)
	for _, name := range sections {
		section := map[string]json.RawMessage{}
		for _, f := range fragments {
			maps.Copy(section, f.sections[name])
		}
		if len(section) > 0 || name == "paths" {
			members[name] = object(section)
		}
	}
	return object(members)
}

// object returns a JSON object with the members in the order of their names. Unlike json.Marshal, it doesn't parse the
// members again.
func object(members map[string]json.RawMessage) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			b.WriteByte(',')
		}
		key, _ := json.Marshal(name) // a string always has an encoding
		b.Write(key)
		b.WriteByte(':')
		b.Write(members[name])
	}
	b.WriteByte('}')
	return b.Bytes()
}

// joinProtobuf returns the document that consists of the fragments, in protobuf. A decoder of protobuf merges the
// messages that follow each other, and keeps the last "swagger" and "info", which are the same in all fragments.
func joinProtobuf(fragments []*fragment) ([]byte, error) {
	var document []byte
	for _, f := range fragments {
		encoded, err := f.protobuf()
		if err != nil {
			return nil, err
		}
		document = append(document, encoded...)
	}
	return document, nil
}
