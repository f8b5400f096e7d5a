package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// readInput returns the content of a file that a flag names. With the name -, it returns the content of the argument in.
func readInput(name string, in io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(name)
}

// loadObjects returns the objects of the file that a flag names, as decodeObjects does.
func loadObjects(flag, name string, in io.Reader) ([]*unstructured.Unstructured, error) {
	content, err := readInput(name, in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return decodeObjects(flag, name, content)
}

// decodeObjects returns the objects in the content of a file. The errors name the flag and the file. The file may have objects
// of kinds that are never stored, such as SubjectAccessReview or PodExecOptions, which the package manifests refuses.
func decodeObjects(flag, name string, content []byte) ([]*unstructured.Unstructured, error) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content)+1)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", flag, name, err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if object.GetKind() == "" || object.GetAPIVersion() == "" {
			return nil, fmt.Errorf("%s %s: object %q must have apiVersion and kind, got apiVersion %q and kind %q", flag, name, object.GetName(), object.GetAPIVersion(), object.GetKind())
		}
		if !object.IsList() {
			objects = append(objects, object)
			continue
		}
		err = object.EachListItem(func(item runtime.Object) error {
			objects = append(objects, item.(*unstructured.Unstructured))
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", flag, name, err)
		}
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("%s %s: must have an object", flag, name)
	}
	return objects, nil
}
