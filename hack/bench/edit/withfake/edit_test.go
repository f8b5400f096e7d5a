// Package withfake_test uses client-go's fake clientset to run the test that the benchmark edits.
package withfake_test

import (
	"testing"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/miniapi-dev/miniapi/hack/bench/edit/edited"
)

const data = "before the edit"

func TestSettings(t *testing.T) { edited.Test(t, fake.NewClientset(), data) }
