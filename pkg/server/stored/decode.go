package stored

import (
	"bytes"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/controllers/objects"
)

// protobufPrefix begins a value in protobuf, and a runtime.Unknown follows:
// https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding. Other values are JSON.
var protobufPrefix = []byte("k8s\x00")

// decode reads the kind and the metadata of a stored object.
func decode(value []byte) (objects.Object, error) {
	stored, err := decodeMetadata(value)
	if err != nil {
		return objects.Object{}, err
	}
	return objects.New(schema.FromAPIVersionAndKind(stored.APIVersion, stored.Kind), &stored.ObjectMeta), nil
}

// decodeMetadata relies on a rule of all kinds in protobuf: metadata is the first field.
func decodeMetadata(value []byte) (stored metav1.PartialObjectMetadata, err error) {
	data, isProtobuf := bytes.CutPrefix(value, protobufPrefix)
	if !isProtobuf {
		if err := json.Unmarshal(value, &stored); err != nil {
			return stored, fmt.Errorf("as JSON: %w", err)
		}
		return stored, nil
	}
	var unknown runtime.Unknown
	if err := unknown.Unmarshal(data); err != nil {
		return stored, fmt.Errorf("as protobuf: %w", err)
	}
	if err := stored.Unmarshal(unknown.Raw); err != nil {
		return stored, fmt.Errorf("metadata of %s %s: %w", unknown.APIVersion, unknown.Kind, err)
	}
	stored.TypeMeta = metav1.TypeMeta{APIVersion: unknown.APIVersion, Kind: unknown.Kind}
	return stored, nil
}
