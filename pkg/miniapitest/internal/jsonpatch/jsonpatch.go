// Package jsonpatch applies JSON patches (RFC 6902), such as those of admission webhooks. Values are in the form of
// package tree. Don't use the package to make patches, or in the place of an API server: the library of API servers
// deviates from the RFC. Its operation test compares numbers by their texts, for example.
package jsonpatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/tree"
)

// Apply returns a copy of an object to which a JSON patch is applied.
func Apply(object, patch any) (any, error) {
	operations, ok := patch.([]any)
	if !ok {
		return nil, errors.New("the patch must be a JSON array")
	}
	result := tree.Clone(object)
	for i, operation := range operations {
		var err error
		if result, err = operate(result, operation); err != nil {
			return nil, fmt.Errorf("operation %d: %w", i+1, err)
		}
	}
	return result, nil
}

// operate applies one operation of a patch to an object.
func operate(object, operation any) (any, error) {
	path, from := tree.Text(operation, "path"), tree.Text(operation, "from")
	value := tree.Clone(tree.At(operation, "value"))
	switch op := tree.Text(operation, "op"); op {
	case "add":
		return edit(object, path, func(place) (any, edition, error) { return value, insert, nil })
	case "replace":
		return edit(object, path, func(p place) (any, edition, error) { return value, set, p.mustExist() })
	case "remove":
		return edit(object, path, func(p place) (any, edition, error) { return nil, remove, p.mustExist() })
	case "test":
		return edit(object, path, func(p place) (any, edition, error) {
			if err := p.mustExist(); err != nil {
				return nil, keep, err
			}
			if !equal(p.value, value) {
				want, _ := json.Marshal(value) // the errors are impossible: both values come from JSON
				got, _ := json.Marshal(p.value)
				return nil, keep, fmt.Errorf("the value must be %s, got %s", want, got)
			}
			return nil, keep, nil
		})
	case "copy", "move":
		var moved any
		result, err := edit(object, from, func(p place) (any, edition, error) {
			moved = tree.Clone(p.value)
			if op == "move" {
				return nil, remove, p.mustExist()
			}
			return nil, keep, p.mustExist()
		})
		if err != nil {
			return nil, err
		}
		return edit(result, path, func(place) (any, edition, error) { return moved, insert, nil })
	default:
		return nil, fmt.Errorf("op %q: must be add, replace, remove, test, copy or move", op)
	}
}

// place is the value at a path, within its object or array.
type place struct {
	value  any
	exists bool
}

func (p place) mustExist() error {
	if !p.exists {
		return errors.New("the object has no such value")
	}
	return nil
}

// edition is the change that an operation makes at a place.
type edition int

const (
	keep edition = iota
	set
	insert
	remove
)

// edit calls change for the place at a path, and returns the changed object. An error names the path.
func edit(object any, path string, change func(place) (any, edition, error)) (any, error) {
	result, err := editBelow(object, path, change)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", path, err)
	}
	return result, nil
}

func editBelow(object any, path string, change func(place) (any, edition, error)) (any, error) {
	if path == "" {
		value, how, err := change(place{object, true})
		if how == keep {
			value = object
		}
		return value, err
	}
	if !strings.HasPrefix(path, "/") {
		return nil, errors.New("must begin with /")
	}
	key, rest, more := strings.Cut(path[1:], "/")
	key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
	switch parent := object.(type) {
	case map[string]any:
		return editMember(parent, key, rest, more, change)
	case []any:
		return editElement(parent, key, rest, more, change)
	}
	return nil, fmt.Errorf("the value above %q is neither an object nor an array", key)
}

func editMember(parent map[string]any, key, rest string, more bool, change func(place) (any, edition, error)) (any, error) {
	value, exists := parent[key]
	if more {
		if !exists {
			return nil, fmt.Errorf("the object has no %q", key)
		}
		changed, err := editBelow(value, "/"+rest, change)
		parent[key] = changed
		return parent, err
	}
	changed, how, err := change(place{value, exists})
	switch {
	case err != nil:
	case how == remove:
		delete(parent, key)
	case how != keep:
		parent[key] = changed
	}
	return parent, err
}

func editElement(parent []any, key, rest string, more bool, change func(place) (any, edition, error)) (any, error) {
	index, err := strconv.Atoi(key)
	if key == "-" {
		index, err = len(parent), nil
	}
	if err != nil || index < 0 || index > len(parent) {
		return nil, fmt.Errorf("%q must be an index of an array of %d elements", key, len(parent))
	}
	p := place{exists: index < len(parent)}
	if p.exists {
		p.value = parent[index]
	}
	if more {
		if err := p.mustExist(); err != nil {
			return nil, err
		}
		changed, err := editBelow(p.value, "/"+rest, change)
		parent[index] = changed
		return parent, err
	}
	changed, how, err := change(p)
	switch {
	case err != nil || how == keep:
		return parent, err
	case how == remove:
		return append(parent[:index], parent[index+1:]...), nil
	case how == set:
		parent[index] = changed
		return parent, nil
	}
	return append(parent[:index], append([]any{changed}, parent[index:]...)...), nil
}

// equal compares values by the rules of RFC 6902, section 4.6: numbers at any depth are equal if their values are
// numerically equal, such as 1 and 1.0.
func equal(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, is := b.(map[string]any)
		if !is || len(x) != len(y) {
			return false
		}
		for key, value := range x {
			if other, has := y[key]; !has || !equal(value, other) {
				return false
			}
		}
		return true
	case []any:
		y, is := b.([]any)
		if !is || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case json.Number:
		if y, is := b.(json.Number); is {
			return equalNumbers(x, y)
		}
	}
	return reflect.DeepEqual(a, b)
}

// equalNumbers compares the exact values of numbers. A float64 would be too short for 9007199254740993.
func equalNumbers(a, b json.Number) bool {
	x, xok := new(big.Rat).SetString(a.String())
	y, yok := new(big.Rat).SetString(b.String())
	if !xok || !yok {
		return a == b // SetString refuses exponents for which the number would need too much memory
	}
	return x.Cmp(y) == 0
}
