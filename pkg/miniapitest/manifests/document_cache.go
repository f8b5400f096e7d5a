package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
)

// mostFiles is the number of files that Documents can cache. Further files are decoded each time.
const mostFiles = 1000

// Documents caches the decoded documents of files in which all objects are custom resource definitions. Decoding the
// definitions of a large project takes longer than starting a server. A file that has changed is decoded again. The
// zero value is ready for use; a nil pointer caches nothing.
type Documents struct {
	mu     sync.Mutex
	byFile map[string]file
}

// file is the content of a file with its decoded documents.
type file struct {
	data      []byte
	documents []document
}

// document is a decoded document of a file. The cache shares documents that have the encoded form. No caller may change
// such a document.
type document struct {
	content any
	encoded *engine.Content
}

// of returns the documents of a file. If a document can't be decoded, it returns an error and all documents before it.
func (d *Documents) of(source string, data []byte) ([]document, error) {
	if d == nil {
		return decodeDocuments(source, data)
	}
	d.mu.Lock()
	known := d.byFile[source]
	d.mu.Unlock()
	if known.data != nil && bytes.Equal(known.data, data) {
		return known.documents, nil
	}
	documents, err := decodeDocuments(source, data)
	if err != nil || !encodeDefinitions(documents) {
		return documents, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, again := d.byFile[source]; !again && len(d.byFile) == mostFiles {
		return documents, nil
	}
	if d.byFile == nil {
		d.byFile = map[string]file{}
	}
	for _, document := range documents {
		document.encoded.Kept = true
	}
	d.byFile[source] = file{data, documents}
	return documents, nil
}

// data returns the content that a file had when the cache decoded it. It returns nil if the file isn't in the cache.
func (d *Documents) data(source string) []byte {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byFile[source].data
}

func decodeDocuments(source string, data []byte) ([]document, error) {
	var documents []document
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		var content any
		err := decoder.Decode(&content)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return documents, fmt.Errorf("%s, document %d: %w", source, len(documents)+1, err)
		}
		documents = append(documents, document{content: content})
	}
}

// encodeDefinitions adds the encoded form to the documents and returns true, if every document is a definition or is
// empty. Otherwise it returns false.
func encodeDefinitions(documents []document) bool {
	for _, d := range documents {
		if d.content == nil {
			continue
		}
		fields, isObject := d.content.(map[string]any)
		if !isObject || !IsDefinition((&unstructured.Unstructured{Object: fields}).GroupVersionKind()) {
			return false
		}
	}
	for i := range documents {
		data, err := json.Marshal(documents[i].content)
		if err != nil {
			return false
		}
		documents[i].encoded = &engine.Content{JSON: data}
	}
	return true
}

// Encoded returns the object in JSON.
func (o Object) Encoded() (*engine.Content, error) {
	if o.Content != nil {
		return o.Content, nil
	}
	data, err := o.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Source, err)
	}
	return &engine.Content{JSON: data}, nil
}

// AtStart returns the definitions among objects that a server can store at its start. These are the definitions of
// version v1 before the first webhook configuration or policy, because a webhook or a policy may refuse or change later
// definitions.
func AtStart(objects []Object) []Object {
	var definitions []Object
	for _, object := range objects {
		switch gvk := object.GroupVersionKind(); {
		case gvk.Group == admissionregistrationv1.GroupName:
			return definitions
		case gvk == DefinitionKind:
			definitions = append(definitions, object)
		}
	}
	return definitions
}
