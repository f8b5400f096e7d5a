package kubelet

import (
	"encoding/json"

	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/yaml"
)

// renderer is kwok's renderer of templates. It doesn't read a result as YAML that is JSON already, as are those of the
// functions PodStatus and NodeStatus.
type renderer struct{ gotpl.Renderer }

// ToJSON implements gotpl.Renderer.
func (r renderer) ToJSON(text string, original any) ([]byte, error) {
	out, err := r.ToText(text, original)
	if err != nil || json.Valid(out) {
		return out, err
	}
	return yaml.YAMLToJSON(out)
}
