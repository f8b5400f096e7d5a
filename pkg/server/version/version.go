// Package version returns the Kubernetes version of the served API, and the version of the build. [Get] returns both.
// Don't use the package for the version that a server emulates: see package featuregates.
package version

import (
	"runtime/debug"
	"strings"
	"sync"

	apimachineryversion "k8s.io/apimachinery/pkg/version"
	basecompatibility "k8s.io/component-base/compatibility"
	baseversion "k8s.io/component-base/version"
)

// Get returns the version that /version and "miniapi version" show: the Kubernetes version of the served API, with
// "+miniapi" and the facts about the build.
func Get() apimachineryversion.Info {
	info := baseversion.Get()
	if strings.Contains(info.GitVersion, "+miniapi") {
		return info
	}
	// A program without a version from the Makefile's linker flags was built by a go command alone, such as "go install"
	// or the "go test" of another module.
	info.GitVersion = builtVersion()
	info.Major, info.Minor = majorMinor(info.GitVersion)
	info.GitCommit, info.GitTreeState, info.BuildDate = "", "", "1970-01-01T00:00:00Z"
	return info
}

// builtVersion returns a version that is derived from the version of module k8s.io/apiserver in the build. A process
// computes it once.
var builtVersion = sync.OnceValue(func() string {
	const module, fallback = "k8s.io/apiserver", "v1.37.0"
	version, revision := fallback, ""
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range build.Deps {
			if dep.Path == module {
				version = "v1" + strings.TrimPrefix(dep.Version, "v0")
			}
		}
		for _, setting := range build.Settings {
			if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
				revision = "." + setting.Value[:12]
			}
		}
	}
	return version + "+miniapi" + revision
})

func majorMinor(version string) (major, minor string) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return "", ""
	}
	return parts[0], parts[1]
}

// Effective is the emulated version of a server. Its Info has the facts about the build that Get returns.
type Effective struct {
	basecompatibility.EffectiveVersion
}

// Info implements basecompatibility.EffectiveVersion.
func (v Effective) Info() *apimachineryversion.Info {
	info := v.EffectiveVersion.Info()
	own := Get()
	if info == nil {
		return &own
	}
	// The Info of the embedded EffectiveVersion has the emulated version, but not the facts about this build.
	own.EmulationMajor, own.EmulationMinor = info.EmulationMajor, info.EmulationMinor
	own.MinCompatibilityMajor, own.MinCompatibilityMinor = info.MinCompatibilityMajor, info.MinCompatibilityMinor
	return &own
}
