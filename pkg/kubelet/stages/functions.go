package stages

import (
	"errors"

	"sigs.k8s.io/kwok/pkg/utils/gotpl"
)

// FunctionNames are the names of the functions that templates have besides those of kwok's renderer. All are kwok's
// but the last two: each of these returns the patch by which the status of a pod gets the state of its containers, or
// the status of a node its condition Ready.
func FunctionNames() []string {
	return []string{"NodeIP", "NodeName", "NodePort", "NodeIPWith", "NodeIPsWith", "PodIP", "PodIPWith", "PodIPsWith", "PodStatus", "NodeStatus"}
}

// parsed returns the functions for a template that is parsed alone.
func parsed() gotpl.FuncMap {
	functions := gotpl.FuncMap{}
	for _, name := range FunctionNames() {
		functions[name] = func(...any) (string, error) { return "", errors.New("no object") }
	}
	return functions
}
