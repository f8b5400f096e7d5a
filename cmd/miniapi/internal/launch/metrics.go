package launch

import (
	"fmt"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	// This import adds metrics to the process. A program may import it, but a library must not.
	_ "k8s.io/component-base/metrics/prometheus/restclient"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// buildInfo is the metric kubernetes_build_info. It replaces the metric of k8s.io/component-base, because only a linker
// flag can set that metric's version, and "go install" uses no linker flags.
var buildInfo = metrics.NewGaugeVec(&metrics.GaugeOpts{
	Name:           "kubernetes_build_info",
	Help:           "What this program was built from, and by what: the value is always 1.",
	StabilityLevel: metrics.BETA,
}, []string{"major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version", "compiler", "platform"})

// recordMetrics records the build, the feature gates and the versions in metrics. It must be called after the flags are
// parsed.
func recordMetrics(options *server.Options) error {
	if err := legacyregistry.Register(buildInfo); err != nil {
		return fmt.Errorf("registering kubernetes_build_info: %w", err)
	}
	v := server.Version()
	buildInfo.WithLabelValues(v.Major, v.Minor, v.GitVersion, v.GitCommit, v.GitTreeState, v.BuildDate, v.GoVersion, v.Compiler, v.Platform).Set(1)
	options.AddMetrics()
	return nil
}
