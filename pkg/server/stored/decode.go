package stored

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unique"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/controllers/objects"
)

// protobufPrefix begins a value in protobuf, and a runtime.Unknown follows:
// https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding. Other values are JSON.
var protobufPrefix = []byte("k8s\x00")

// metadata is what an objects.Object is made of. The rest of a value isn't decoded: most of it are the managed fields, and
// every write of the server is decoded.
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
			return objects.Object{}, fmt.Errorf("as protobuf: %w", err)
		}
	} else if err := json.Unmarshal(value, &stored); err != nil {
		return objects.Object{}, fmt.Errorf("as JSON: %w", err)
	}
	// The kinds are few, and the objects many.
	kind := schema.FromAPIVersionAndKind(unique.Make(stored.APIVersion).Value(), unique.Make(stored.Kind).Value())
	meta := metav1.ObjectMeta{
		Name: stored.Object.Name, Namespace: stored.Object.Namespace, UID: stored.Object.UID,
		DeletionTimestamp: stored.Object.DeletionTimestamp, OwnerReferences: stored.Object.OwnerReferences, Finalizers: stored.Object.Finalizers,
	}
	return objects.New(kind, &meta), nil
}

// unmarshalUnknown reads a runtime.Unknown: field 1 is the type, and field 2 the object.
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

// setType sets a field of a runtime.TypeMeta.
func (m *metadata) setType(number protowire.Number, value []byte) error {
	switch number {
	case 1:
		m.APIVersion = string(value)
	case 2:
		m.Kind = string(value)
	}
	return nil
}

// setObject sets the metadata of an object, which are the first field of all kinds.
func (m *metadata) setObject(number protowire.Number, value []byte) error {
	if number == 1 {
		return eachField(value, m.setMetadata)
	}
	return nil
}

// setMetadata sets a field of a metav1.ObjectMeta.
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

// eachField calls f with the fields of a message that are strings, bytes or messages.
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
