package launch

import (
	"fmt"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/restclient" // registers with the process, so libraries must not import it

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// buildInfo is kubernetes_build_info. The metric of the library takes its version from the linker alone, and "go install"
// gives the linker none.
var buildInfo = metrics.NewGaugeVec(&metrics.GaugeOpts{
	Name:           "kubernetes_build_info",
	Help:           "What this program was built from, and by what: the value is always 1.",
	StabilityLevel: metrics.BETA,
}, []string{"major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version", "compiler", "platform"})

// recordMetrics records the build, the feature gates and the versions. The flags must be parsed before.
func recordMetrics(options *server.Options) error {
	if err := legacyregistry.Register(buildInfo); err != nil {
		return fmt.Errorf("registering kubernetes_build_info: %w", err)
	}
	v := server.Version()
	buildInfo.WithLabelValues(v.Major, v.Minor, v.GitVersion, v.GitCommit, v.GitTreeState, v.BuildDate, v.GoVersion, v.Compiler, v.Platform).Set(1)
	options.AddMetrics()
	return nil
}
