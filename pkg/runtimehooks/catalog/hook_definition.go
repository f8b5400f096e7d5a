package catalog

import (
	"errors"
	"fmt"
	"reflect"
	goruntime "runtime"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Hook is a function of the type func(*Request, *Response), where *Request and *Response implement runtime.Object.
// The function is never called.
type Hook any

// Metadata describes a hook.
type Metadata struct {
	// Summary is one line of text. Description may have several lines.
	Summary, Description string
	// Tags group the hooks in the OpenAPI document.
	Tags []string
	// Deprecated is true for a hook version that will be removed. Callers get a warning from extensions that
	// implement it.
	Deprecated bool
	// Singleton is true for a hook with at most one handler in an extension. The handler has no name. Discovery is
	// such a hook.
	Singleton bool
}

// Definition is a hook that Register adds to a catalog.
type Definition struct {
	hook              Hook
	name, function    string
	metadata          Metadata
	request, response reflect.Type // the struct types
	err               error
}

// Define makes a definition of a hook from its function. The name of the function is the name of the hook. If the
// function isn't a Hook, or is a function literal, Register returns an error.
func Define(hook Hook, metadata Metadata) Definition {
	function, err := functionName(hook)
	if err != nil {
		return Definition{name: fmt.Sprintf("%T", hook), err: err}
	}
	// The runtime adds this suffix to the name of a method value.
	name := strings.TrimSuffix(function[strings.LastIndexByte(function, '.')+1:], "-fm")
	d := Definition{hook: hook, name: name, function: function, metadata: metadata}
	t := reflect.TypeOf(hook)
	if t.NumIn() != 2 || t.NumOut() != 0 || t.IsVariadic() {
		d.err = fmt.Errorf("the function must be a func(*Request, *Response), got %s", t)
		return d
	}
	var errs [2]error
	d.request, errs[0] = objectType("request", t.In(0))
	d.response, errs[1] = objectType("response", t.In(1))
	d.err = errors.Join(errs[:]...)
	return d
}

// objectType returns the struct type S of the pointer type *S. It returns an error if the argument isn't a pointer to a
// struct, or doesn't implement runtime.Object. The argument "what" is the name of the type in the error.
func objectType(what string, t reflect.Type) (reflect.Type, error) {
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct || !t.Implements(reflect.TypeFor[runtime.Object]()) {
		return nil, fmt.Errorf("the %s of the function, %s, must be a pointer to a struct that implements runtime.Object", what, t)
	}
	return t.Elem(), nil
}

// functionName returns the qualified name of a function. It is unique in the program.
func functionName(hook Hook) (string, error) {
	v := reflect.ValueOf(hook)
	if v.Kind() != reflect.Func || v.IsNil() {
		return "", fmt.Errorf("a hook must be a func(*Request, *Response) that isn't nil, got %T", hook)
	}
	name := goruntime.FuncForPC(v.Pointer()).Name()
	// A function literal has no name of its own: the compiler calls it func1, func2 and so on.
	last := name[strings.LastIndexByte(name, '.')+1:]
	if rest, ok := strings.CutPrefix(last, "func"); ok && strings.Trim(rest, "0123456789") == "" {
		return "", fmt.Errorf("a hook must be a function with a name, got the function literal %s", name)
	}
	return name, nil
}
