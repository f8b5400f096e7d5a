package integration_test

import (
	"strings"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// A version of a custom resource stays equivalent to the others while its definition has the version, whether the version
// is served or not. The webhook of the test can't be reached, so each call of it fails.
func TestMatchPolicyOfUnservedVersion(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	define(t, srv, "gadgets", "Gadget", "v2", "v1")
	configure(t, srv, "older", unreachable(validating("older", nil, on("CREATE", "example.com/v1", "gadgets"))))
	definitions := must(apiextensions.NewForConfig(srv.Config()))(t).CustomResourceDefinitions()
	for _, test := range []struct {
		name, reason string
		change       func(t *testing.T)
		called       bool
	}{
		{"served", "both versions are served", func(*testing.T) {}, true},
		{"unserved", "the server still converts objects to the version", func(t *testing.T) {
			t.Helper()
			definition := must(definitions.Get(t.Context(), "gadgets.example.com", metav1.GetOptions{}))(t)
			definition.Spec.Versions[1].Served = false
			must(definitions.Update(t.Context(), definition, metav1.UpdateOptions{}))(t)
		}, true},
		{"removed", "the server can't convert objects to the version", func(t *testing.T) {
			t.Helper()
			definition := must(definitions.Get(t.Context(), "gadgets.example.com", metav1.GetOptions{}))(t)
			definition.Spec.Versions = definition.Spec.Versions[:1]
			must(definitions.Update(t.Context(), definition, metav1.UpdateOptions{}))(t)
		}, false},
	} {
		test.change(t)
		_, err := resources(srv, "example.com/v2", "gadgets").Create(t.Context(), object("example.com/v2", "Gadget", test.name, nil), metav1.CreateOptions{})
		if called := err != nil && strings.Contains(err.Error(), "failed calling webhook"); called != test.called {
			t.Errorf("%s: the webhook was called: %t, want %t: %s: %v", test.name, called, test.called, test.reason, err)
		}
	}
}
