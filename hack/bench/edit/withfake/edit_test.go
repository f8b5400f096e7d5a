// Package withfake_test runs the test that the benchmark edits with client-go's fake clientset.
package withfake_test

import (
	"testing"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/miniapi-dev/miniapi/hack/bench/edit/edited"
)

const data = "before the edit"

func TestSettings(t *testing.T) { edited.Test(t, fake.NewClientset(), data) }
