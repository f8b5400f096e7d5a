//go:build unix

// Package withenvtest_test uses envtest to run the test that the benchmark edits.
package withenvtest_test

import (
	"os"
	"testing"

	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/miniapi-dev/miniapi/hack/bench/edit/edited"
)

const data = "before the edit"

func TestSettings(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS isn't set: bench sets it")
	}
	environment := &envtest.Environment{}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	edited.Test(t, client, data)
}
