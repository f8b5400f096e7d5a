package conformancetest

import (
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/checker"
)

// Extension runs the suite of runtime extensions. Each case is a subtest.
func Extension(t *testing.T, target checker.Target, options conformance.Options) {
	t.Helper()
	results, err := conformance.Run(t.Context(), conformance.ExtensionCases(target), options)
	if err != nil {
		t.Fatal(err)
	}
	Results(t, results)
}
