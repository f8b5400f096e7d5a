package configuration

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestRead(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, reason, text, refusal string }{
		{name: "good", reason: "the file has the kind and version of the plugin",
			text: `{apiVersion: example.com/v1, kind: Configuration, size: 1}`},
		{name: "version", reason: "the configuration has only one version",
			text: `{apiVersion: example.com/v2, kind: Configuration}`, refusal: `version "example.com/v2"`},
		{name: "kind", reason: "the kind belongs to another plugin", text: `{apiVersion: example.com/v1, kind: Other}`,
			refusal: `kind "Other" of version "example.com/v1": must be Configuration of `},
		{name: "field", reason: "a misspelt field would do nothing",
			text: `{apiVersion: example.com/v1, kind: Configuration, sise: 1}`, refusal: `unknown field "sise"`},
		{name: "text", reason: "the file isn't YAML", text: `{`, refusal: "yaml"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var into struct {
				metav1.TypeMeta `json:",inline"`

				Size int `json:"size"`
			}
			plugintest.Want(t, Read(strings.NewReader(test.text), "example.com/v1", &into), test.refusal)
			if test.refusal == "" && into.Size != 1 {
				t.Errorf("%s: read %+v", test.reason, into)
			}
		})
	}
}
