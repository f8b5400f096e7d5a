package kubelet

import (
	"testing"

	"sigs.k8s.io/kwok/pkg/utils/gotpl"
)

func TestRenderer(t *testing.T) {
	t.Parallel()
	r := renderer{gotpl.NewRenderer(nil)}
	for _, test := range []struct{ name, reason, template, want string }{
		{"JSON", "the result is kept as it is", `{"phase": "{{ .phase }}", "big": 9007199254740993}`, `{"phase": "Pending", "big": 9007199254740993}`},
		{"YAML", "the result becomes JSON", "phase: {{ .phase }}\nready: true", `{"phase":"Pending","ready":true}`},
	} {
		got, err := r.ToJSON(test.template, map[string]any{"phase": "Pending"})
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s: want %s, got %s and the error %v", test.name, test.reason, test.want, got, err)
		}
	}
	for name, template := range map[string]string{"template": "{{ .phase | none }}", "YAML": "a: b: c"} {
		if got, err := r.ToJSON(template, nil); err == nil {
			t.Errorf("an invalid %s: want an error, got %s", name, got)
		}
	}
}
