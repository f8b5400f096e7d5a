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
	makers, closure := makers(), map[string]common.OpenAPIDefinition{}
	var add func(name string)
	add = func(name string) {
		definition, known := makers[name]
		if _, done := closure[name]; done || !known {
			return
		}
		closure[name] = definition(ref)
		for _, dependency := range closure[name].Dependencies {
			add(dependency)
		}
	}
	add(name)
	return closure
}
