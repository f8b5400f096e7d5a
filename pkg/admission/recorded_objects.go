package admission

import (
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// protobuf is the interface of built-in types, which can be encoded as protobuf.
type protobuf interface {
	runtime.Object
	Marshal() ([]byte, error)
	Unmarshal(encoded []byte) error
}

// encode returns an object in the form in which a recording keeps it. The form is protobuf if the type supports
// protobuf, which takes a fraction of the time and the memory of JSON. Otherwise the form is JSON. For nil, encode
// returns an empty Encoding.
func encode(object runtime.Object, o admission.ObjectInterfaces) recorder.Encoding {
	if object == nil {
		return recorder.Encoding{}
	}
	if built, ok := object.(protobuf); ok {
		if encoded, err := built.Marshal(); err == nil && len(encoded) > 0 {
			return recorder.Encoding{Bytes: encoded, JSON: decoder(built, o)}
		}
	}
	return recorder.Encoding{Bytes: encodeJSON(object, o.GetObjectTyper())}
}

// decoder returns a function that converts the protobuf of an object to JSON. The function keeps the Go type and the
// kind of the object, because the protobuf contains neither. It doesn't keep the object.
func decoder(object protobuf, o admission.ObjectInterfaces) func([]byte) json.RawMessage {
	kind, built, typer := object.GetObjectKind().GroupVersionKind(), reflect.TypeOf(object).Elem(), o.GetObjectTyper()
	return func(encoded []byte) json.RawMessage {
		decoded, ok := reflect.New(built).Interface().(protobuf)
		if !ok || decoded.Unmarshal(encoded) != nil {
			return nil // the error is impossible: encode has made this protobuf
		}
		decoded.GetObjectKind().SetGroupVersionKind(kind)
		return encodeJSON(decoded, typer)
	}
}

// encodeJSON returns the JSON of an object. It adds apiVersion and kind if the object lacks them.
func encodeJSON(object runtime.Object, typer runtime.ObjectTyper) json.RawMessage {
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil // the error is impossible: each API object can be encoded as JSON
	}
	if object.GetObjectKind().GroupVersionKind().Empty() {
		encoded = withKind(encoded, object, typer)
	}
	return encoded
}

// withKind adds apiVersion and kind to the JSON of an object that doesn't carry them. The typer finds both by the
// object's Go type.
func withKind(encoded []byte, object runtime.Object, typer runtime.ObjectTyper) []byte {
	kinds, _, err := typer.ObjectKinds(object)
	if err != nil || len(encoded) < len("{}") {
		return encoded
	}
	for _, kind := range kinds {
		if kind.Version == runtime.APIVersionInternal {
			continue
		}
		apiVersion, name := kind.ToAPIVersionAndKind()
		head := []byte(`{"kind":"` + name + `","apiVersion":"` + apiVersion + `"`)
		if len(encoded) > len("{}") {
			head = append(head, ',')
		}
		return append(head, encoded[1:]...)
	}
	return encoded
}
