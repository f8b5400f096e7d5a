package kubelet

import (
	"encoding/json"
	"regexp"

	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/yaml"
)

// renderer is kwok's renderer of templates. It doesn't read a result as YAML that is JSON already, as are those of the
// functions PodStatus and NodeStatus. A template that only calls such a function isn't executed: the function gets the object
// itself, which a template would get as JSON.
type renderer struct {
	gotpl.Renderer
	statuses map[string]statusFunction
}

// statusFunction is a function of templates that returns a patch from an object and a state.
type statusFunction = func(from any, state string) (string, error)

func newRenderer(functions gotpl.FuncMap) renderer {
	r := renderer{gotpl.NewRenderer(functions), map[string]statusFunction{}}
	for name, function := range functions {
		if status, ok := function.(statusFunction); ok {
			r.statuses[name] = status
		}
	}
	return r
}

// statusCall matches a template such as {{ PodStatus . "Running" }}.
var statusCall = regexp.MustCompile(`^\s*\{\{\s*(\w+)\s+\.\s+"(\w+)"\s*\}\}\s*$`)

// ToJSON implements gotpl.Renderer.
func (r renderer) ToJSON(text string, original any) ([]byte, error) {
	if call := statusCall.FindStringSubmatch(text); call != nil && r.statuses[call[1]] != nil {
		patch, err := r.statuses[call[1]](original, call[2])
		return []byte(patch), err
	}
	out, err := r.ToText(text, original)
	if err != nil || json.Valid(out) {
		return out, err
	}
	return yaml.YAMLToJSON(out)
}
