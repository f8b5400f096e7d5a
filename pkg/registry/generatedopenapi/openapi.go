package generatedopenapi

import "k8s.io/kube-openapi/pkg/common"

// GetOpenAPIDefinitions returns the definitions of all types by their model names.
func GetOpenAPIDefinitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	definitions := map[string]common.OpenAPIDefinition{}
	for name, make := range makers() {
		definitions[name] = make(ref)
	}
	return definitions
}

// Closure returns the definitions of a type and of all types to which it refers. The name is a model name. For an
// unknown name, the result is empty.
func Closure(ref common.ReferenceCallback, name string) map[string]common.OpenAPIDefinition {
	closure := closure{makers(), map[string]common.OpenAPIDefinition{}}
	closure.add(ref, name)
	return closure.definitions
}

// ClosureOf returns the definitions of the types that root selects by their model names, and of all types to which they
// refer.
func ClosureOf(ref common.ReferenceCallback, root func(name string) bool) map[string]common.OpenAPIDefinition {
	closure := closure{makers(), map[string]common.OpenAPIDefinition{}}
	for name := range closure.makers {
		if root(name) {
			closure.add(ref, name)
		}
	}
	return closure.definitions
}

type closure struct {
	makers      map[string]func(common.ReferenceCallback) common.OpenAPIDefinition
	definitions map[string]common.OpenAPIDefinition
}

func (c closure) add(ref common.ReferenceCallback, name string) {
	definition, known := c.makers[name]
	if _, done := c.definitions[name]; done || !known {
		return
	}
	c.definitions[name] = definition(ref)
	for _, dependency := range c.definitions[name].Dependencies {
		c.add(ref, dependency)
	}
}
