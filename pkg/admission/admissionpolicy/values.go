package admissionpolicy

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiserver/pkg/cel/mutation"
)

const (
	// maxValue bounds the length of a recorded value. Longer values are cut.
	maxValue = 4 << 10
	// maxDepth bounds the nesting of a recorded value.
	maxDepth = 32
)

// textOf returns the value of an expression in JSON, cut to maxValue.
func textOf(value ref.Val) string {
	encoded, err := json.Marshal(plain(value, maxDepth))
	text := string(encoded)
	if err != nil { // JSON has no infinity and no NaN
		text = fmt.Sprint(value.Value())
	}
	if len(text) <= maxValue {
		return text
	}
	return strings.ToValidUTF8(text[:maxValue], "") + "…"
}

// plain converts a CEL value into one that encoding/json can encode.
func plain(value ref.Val, depth int) any {
	if depth == 0 {
		return "…"
	}
	switch value := value.(type) {
	case nil, types.Null:
		return nil
	case types.Bool, types.String, types.Int, types.Uint, types.Double:
		return value.Value()
	case *mutation.JSONPatchVal:
		return jsonPatch(value, depth)
	case traits.Mapper:
		fields := map[string]any{}
		for keys := value.Iterator(); keys.HasNext() == types.True; {
			key := keys.Next()
			fields[fmt.Sprint(key.Value())] = plain(value.Get(key), depth-1)
		}
		return fields
	case traits.Lister:
		elements := []any{}
		for iterator := value.Iterator(); iterator.HasNext() == types.True; {
			elements = append(elements, plain(iterator.Next(), depth-1))
		}
		return elements
	}
	if native, err := value.ConvertToNative(types.JSONValueType); err == nil {
		if converted, ok := native.(interface{ AsInterface() any }); ok {
			return converted.AsInterface()
		}
	}
	return fmt.Sprint(value.Value())
}

// jsonPatch converts an operation of a JSON patch to a map that encoding/json can encode.
func jsonPatch(operation *mutation.JSONPatchVal, depth int) any {
	fields := map[string]any{"op": operation.Op, "path": operation.Path}
	if operation.From != "" {
		fields["from"] = operation.From
	}
	if operation.Val != nil {
		fields["value"] = plain(operation.Val, depth-1)
	}
	return fields
}
