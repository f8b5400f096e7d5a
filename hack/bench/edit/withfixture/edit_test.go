// Package withfixture_test uses package miniapitest (the fixture) to run the test that the
// benchmark edits.
package withfixture_test

import (
	"testing"

	"github.com/miniapi-dev/miniapi/hack/bench/edit/edited"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

const data = "before the edit"

func TestSettings(t *testing.T) { edited.Test(t, miniapitest.Start(t).Client(), data) }
