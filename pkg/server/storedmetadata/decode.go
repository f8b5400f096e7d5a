package storedmetadata

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"unique"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/controllers/objects"
)

// protobufPrefix is the beginning of a stored value in protobuf. A runtime.Unknown follows it: see
// https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding. The function decode reads all other
// values as JSON.
var protobufPrefix = []byte("k8s\x00")

// largeObject is the size of JSON in bytes from which an object counts as large.
const largeObject = 4 << 10

// metadata has the parts of a stored object that an objects.Object needs. Only these parts are decoded: decode runs for
// every write, and managed fields often take up most of a stored value.
type metadata struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Object     struct {
		Name              string                  `json:"name"`
		Namespace         string                  `json:"namespace"`
		UID               types.UID               `json:"uid"`
		DeletionTimestamp *metav1.Time            `json:"deletionTimestamp"`
		OwnerReferences   []metav1.OwnerReference `json:"ownerReferences"`
		Finalizers        []string                `json:"finalizers"`
	} `json:"metadata"`
}

// decode reads the kind and the metadata of a stored object.
func decode(value []byte) (objects.Object, error) {
	var stored metadata
	if data, isProtobuf := bytes.CutPrefix(value, protobufPrefix); isProtobuf {
		if err := stored.unmarshalUnknown(data); err != nil {
			return objects.Object{}, fmt.Errorf("decoding the value as protobuf: %w", err)
		}
	} else if err := stored.unmarshalJSON(value); err != nil {
		return objects.Object{}, fmt.Errorf("decoding the value as JSON: %w", err)
	}
	// Objects share the strings of their kind in memory, because there are many objects and few kinds.
	kind := schema.FromAPIVersionAndKind(unique.Make(stored.APIVersion).Value(), unique.Make(stored.Kind).Value())
	meta := metav1.ObjectMeta{
		Name: stored.Object.Name, Namespace: stored.Object.Namespace, UID: stored.Object.UID,
		DeletionTimestamp: stored.Object.DeletionTimestamp, OwnerReferences: stored.Object.OwnerReferences,
		Finalizers: stored.Object.Finalizers,
	}
	return objects.New(kind, &meta), nil
}

// unmarshalJSON decodes an object. It reads a large one only as far as the last of the parts: they are the first fields of
// a stored object, and the other fields of a definition are much larger. For a small one, that would take longer.
func (m *metadata) unmarshalJSON(value []byte) error {
	if len(value) < largeObject {
		return json.Unmarshal(value, m)
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('{') {
		return cmp.Or(err, fmt.Errorf("%v: must be the beginning of an object", begin))
	}
	parts := map[string]any{"apiVersion": &m.APIVersion, "kind": &m.Kind, "metadata": &m.Object}
	for len(parts) > 0 {
		token, err := decoder.Token()
		if err != nil || token == json.Delim('}') {
			return err
		}
		name, _ := token.(string)
		part, wanted := parts[name]
		if !wanted {
			part = &json.RawMessage{}
		}
		if err := decoder.Decode(part); err != nil {
			return err
		}
		delete(parts, name)
	}
	return nil
}

// unmarshalUnknown decodes a runtime.Unknown: its field 1 has the type, and its field 2 the object.
func (m *metadata) unmarshalUnknown(data []byte) error {
	return eachField(data, func(number protowire.Number, value []byte) error {
		switch number {
		case 1:
			return eachField(value, m.setType)
		case 2:
			return eachField(value, m.setObject)
		}
		return nil
	})
}

// setType sets APIVersion or Kind. The number is the number of the field in the protobuf message of
// runtime.TypeMeta.
func (m *metadata) setType(number protowire.Number, value []byte) error {
	switch number {
	case 1:
		m.APIVersion = string(value)
	case 2:
		m.Kind = string(value)
	}
	return nil
}

// setObject decodes the metadata of an object. The metadata is field 1 in the messages of all kinds.
func (m *metadata) setObject(number protowire.Number, value []byte) error {
	if number == 1 {
		return eachField(value, m.setMetadata)
	}
	return nil
}

// setMetadata sets a field of m.Object. The number is the number of the field in the protobuf message of
// metav1.ObjectMeta.
func (m *metadata) setMetadata(number protowire.Number, value []byte) error {
	switch number {
	case 1:
		m.Object.Name = string(value)
	case 3:
		m.Object.Namespace = string(value)
	case 5:
		m.Object.UID = types.UID(value)
	case 9:
		m.Object.DeletionTimestamp = &metav1.Time{}
		return m.Object.DeletionTimestamp.Unmarshal(value)
	case 13:
		var owner metav1.OwnerReference
		if err := owner.Unmarshal(value); err != nil {
			return fmt.Errorf("owner reference: %w", err)
		}
		m.Object.OwnerReferences = append(m.Object.OwnerReferences, owner)
	case 14:
		m.Object.Finalizers = append(m.Object.Finalizers, string(value))
	}
	return nil
}

// eachField calls f with each field of a protobuf message whose value is a string, bytes or another message.
func eachField(message []byte, f func(protowire.Number, []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
				return protowire.ParseError(n)
			}
			message = message[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := f(number, value); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}
