package features_test

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"

	"github.com/miniapi-dev/miniapi/pkg/registry/features"
)

// TestRecordedGates compares the gates of each version that can be emulated with the metric kubernetes_feature_enabled
// of kube-apiserver 1.37.2, which ran with --emulated-version.
func TestRecordedGates(t *testing.T) {
	t.Parallel()
	for _, kubernetes := range []string{"1.34", "1.35", "1.36", "1.37"} {
		t.Run(kubernetes, func(t *testing.T) {
			t.Parallel()
			gates := features.Of(version.MustParse(kubernetes))
			all := gates.GetAll()
			recorded := 0
			for name, want := range recordedGates(t, "testdata/kube-apiserver-"+kubernetes+".txt") {
				spec, known := all[name]
				if !known && ofLoggingAndMetrics[name] {
					continue
				}
				recorded++
				if !known || stage(spec) != want.stage || gates.Enabled(name) != want.on {
					t.Errorf("%s: want %v, got %q, on: %t, known: %t", name, want, stage(spec), known && gates.Enabled(name), known)
				}
			}
			if len(all) != recorded {
				t.Errorf("want the %d recorded gates, got %d", recorded, len(all))
			}
		})
	}
}

// ofLoggingAndMetrics are gates that the libraries for logs and metrics add to the gates of a program.
var ofLoggingAndMetrics = map[featuregate.Feature]bool{
	"ContextualLogging": true, "LoggingAlphaOptions": true, "LoggingBetaOptions": true, "NativeHistograms": true,
}

type recordedGate struct {
	stage string
	on    bool
}

// recordedGates reads lines such as: EnvFiles BETA 1. Gates without a stage are generally available.
func recordedGates(t *testing.T, file string) map[featuregate.Feature]recordedGate {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gates := map[featuregate.Feature]recordedGate{}
	for s := bufio.NewScanner(f); s.Scan(); {
		words := strings.Split(s.Text(), " ")
		on, err := strconv.ParseBool(words[2])
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		gates[featuregate.Feature(words[0])] = recordedGate{words[1], on}
	}
	return gates
}

func stage(spec featuregate.FeatureSpec) string { return string(spec.PreRelease) }

// TestAddTo checks that the gates of the libraries and those of kube-apiserver are the same where both have a gate, and
// that a dependency is an error, as in kube-apiserver.
func TestAddTo(t *testing.T) {
	t.Parallel()
	gates := utilfeature.DefaultMutableFeatureGate.DeepCopyAndReset()
	if err := features.AddTo(gates); err != nil {
		t.Fatal(err)
	}
	err := gates.SetFromMap(map[string]bool{"WorkloadWithJob": true})
	if want := "WorkloadWithJob is enabled, but depends on features that are disabled: [GenericWorkload]"; err == nil || err.Error() != want {
		t.Errorf("want the error %q, got %v", want, err)
	}
}
