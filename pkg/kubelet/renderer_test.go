package kubelet

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
)

func TestRenderer(t *testing.T) {
	t.Parallel()
	r := newRenderer(gotpl.FuncMap{
		"Upper": func(text string) string { return strings.ToUpper(text) },
		"Status": func(from any, state string) (string, error) {
			if state == "Wrong" {
				return "", errors.New("no such state")
			}
			return fmt.Sprintf(`{"type": "%T", "state": %q}`, from, state), nil
		},
	})
	object := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}}
	for _, test := range []struct{ name, reason, template, want string }{
		{"JSON", "the result is kept as it is", `{"phase": "{{ .status.phase }}", "big": 9007199254740993}`, `{"phase": "Pending", "big": 9007199254740993}`},
		{"YAML", "the result becomes JSON", "phase: {{ .status.phase }}\nready: true", `{"phase":"Pending","ready":true}`},
		{"call", "the function gets the object itself", `{{ Status . "Running" }}`, `{"type": "*v1.Pod", "state": "Running"}`},
		{"call within a template", "the template has the object as JSON", `{{ if true }}{{ Status . "Running" }}{{ end }}`, `{"type": "map[string]interface {}", "state": "Running"}`},
		{"call of another function", "the function has another form", `{"phase": "{{ Upper .status.phase }}"}`, `{"phase": "PENDING"}`},
	} {
		got, err := r.ToJSON(test.template, object)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s: want %s, got %s and the error %v", test.name, test.reason, test.want, got, err)
		}
	}
	for name, template := range map[string]string{"template": "{{ .status.phase | none }}", "YAML": "a: b: c", "state": `{{ Status . "Wrong" }}`} {
		if got, err := r.ToJSON(template, object); err == nil {
			t.Errorf("an invalid %s: want an error, got %s", name, got)
		}
	}
}
