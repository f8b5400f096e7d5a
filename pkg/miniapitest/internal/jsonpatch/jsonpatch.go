// Package jsonpatch applies the JSON patches of admission webhooks with the library of API servers, so that a patch is
// judged here as there, also where the library deviates from RFC 6902: a negative index counts from the end, and the
// operation test compares numbers by their texts. Values are in the form of package tree. Don't use the package to make
// patches.
package jsonpatch

import (
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/tree"
)

// Apply returns a copy of an object to which a JSON patch is applied.
func Apply(object, patch any) (patched any, err error) {
	before, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	operations, err := decode(patch)
	if err != nil {
		return nil, err
	}
	defer func() { // the library panics for some operations whose value is missing or null
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the value of an operation of the patch is missing, or has a null: %v", cause)
		}
	}()
	after, err := operations.Apply(before)
	if err != nil {
		return nil, err
	}
	return tree.Decode(after)
}

func decode(patch any) (jsonpatch.Patch, error) {
	encoded, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	operations, err := jsonpatch.DecodePatch(encoded)
	if err != nil {
		return nil, fmt.Errorf("a patch must be a JSON array of operations: %w", err)
	}
	return operations, nil
}
