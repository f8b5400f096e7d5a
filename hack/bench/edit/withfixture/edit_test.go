// Package withfixture_test runs the test that the benchmark edits with the fixture.
package withfixture_test

import (
	"testing"

	"github.com/miniapi-dev/miniapi/hack/bench/edit/edited"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

const data = "before the edit"

func TestSettings(t *testing.T) { edited.Test(t, miniapitest.Start(t).Client(), data) }
