// Package version says which Kubernetes version a server serves, and what is known of the build. Don't use it for the
// version that a server emulates: see package process.
package version

import (
	"runtime/debug"
	"strings"
	"sync"

	apimachineryversion "k8s.io/apimachinery/pkg/version"
	basecompatibility "k8s.io/component-base/compatibility"
	baseversion "k8s.io/component-base/version"
)

// Get returns what /version answers and "miniapi version" prints: the Kubernetes
// version whose API is served, with "+miniapi" and what is known of this build.
func Get() apimachineryversion.Info {
	info := baseversion.Get()
	if strings.Contains(info.GitVersion, "+miniapi") {
		return info
	}
	// Not built by the Makefile: "go install", or a test of another module.
	info.GitVersion = builtVersion()
	info.Major, info.Minor = majorMinor(info.GitVersion)
	info.GitCommit, info.GitTreeState, info.BuildDate = "", "", "1970-01-01T00:00:00Z"
	return info
}

// builtVersion takes the version from the module that the API comes from. It is the same for the whole life of a
// process.
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

// Effective is the version that a server emulates, and says of its build what Get says.
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
	// The library's knows of emulation; the build is ours to tell.
	own.EmulationMajor, own.EmulationMinor = info.EmulationMajor, info.EmulationMinor
	own.MinCompatibilityMajor, own.MinCompatibilityMinor = info.MinCompatibilityMajor, info.MinCompatibilityMinor
	return &own
}
