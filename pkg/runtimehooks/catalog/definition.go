package catalog

import (
	"errors"
	"fmt"
	"reflect"
	goruntime "runtime"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Hook is a function of the type func(*Request, *Response), where *Request and *Response are runtime.Objects.
type Hook any

// Metadata describes a hook to the readers of its documentation.
type Metadata struct {
	// Summary is one line. Description may have several.
	Summary, Description string
	// Tags group hooks in the OpenAPI document.
	Tags []string
	// Deprecated hooks are announced to go. Extensions that implement them get a warning.
	Deprecated bool
	// Singleton hooks have one handler in an extension at most, and the handler has no name. Discovery is one.
	Singleton bool
}

// Definition is a hook that Register adds to a catalog.
type Definition struct {
	hook              Hook
	name, function    string
	metadata          Metadata
	request, response reflect.Type // structs
	err               error
}

// Define makes a definition of a hook. The function's name is the name of the hook. Register reports a function that is
// no hook.
func Define(hook Hook, metadata Metadata) Definition {
	function, err := functionName(hook)
	if err != nil {
		return Definition{name: fmt.Sprintf("%T", hook), err: err}
	}
	name := strings.TrimSuffix(function[strings.LastIndexByte(function, '.')+1:], "-fm") // the suffix of a method's value
	d := Definition{hook: hook, name: name, function: function, metadata: metadata}
	t := reflect.TypeOf(hook)
	if t.NumIn() != 2 || t.NumOut() != 0 || t.IsVariadic() {
		d.err = fmt.Errorf("function has type %s, not func(*Request, *Response)", t)
		return d
	}
	var errs [2]error
	d.request, errs[0] = objectType("request", t.In(0))
	d.response, errs[1] = objectType("response", t.In(1))
	d.err = errors.Join(errs[:]...)
	return d
}

// objectType returns the struct of a type that is a pointer to one and a runtime.Object.
func objectType(what string, t reflect.Type) (reflect.Type, error) {
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct || !t.Implements(reflect.TypeFor[runtime.Object]()) {
		return nil, fmt.Errorf("the %s of the function, %s, must be a pointer to a struct that implements runtime.Object", what, t)
	}
	return t.Elem(), nil
}

// functionName returns the qualified name of a function, which no other function of the program has.
func functionName(hook Hook) (string, error) {
	v := reflect.ValueOf(hook)
	if v.Kind() != reflect.Func || v.IsNil() {
		return "", fmt.Errorf("a hook is a func(*Request, *Response), not %T", hook)
	}
	name := goruntime.FuncForPC(v.Pointer()).Name()
	// The compiler names literals func1, func2 and so on, and their names say nothing.
	last := name[strings.LastIndexByte(name, '.')+1:]
	if rest, ok := strings.CutPrefix(last, "func"); ok && strings.Trim(rest, "0123456789") == "" {
		return "", fmt.Errorf("a hook is a function with a name, not the literal %s", name)
	}
	return name, nil
}
