package miniapitest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
)

// Option changes how a server is started.
type Option func(*options) error

type options struct {
	engine engine.Engine
	// description has the options that are data.
	description engine.Description
	users       []user

	// Objects to apply: see steps.
	definitions, objects, configurations []installed

	handlers map[string]http.Handler
	services []engine.Place // of WithWebhookService
	// extensions are those of WithRuntimeExtension.
	extensions []extension
	// reachTimeout bounds the time until a webhook listens.
	reachTimeout time.Duration

	folder    string // of the server's files
	logTo     io.Writer
	auditSink func(event []byte) error
}

type user struct {
	name   string
	groups []string
}

func newOptions() *options {
	return &options{
		description: engine.Description{RuntimeConfig: map[string]string{}, FeatureGates: map[string]bool{}},
		handlers:    map[string]http.Handler{}, reachTimeout: reachTimeout,
	}
}

// reachTimeout is the default of the options.
const reachTimeout = 10 * time.Second

// isNil is also true for an interface with a nil pointer or function.
func isNil(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil()
}

// Legacy serves API versions that kube-apiserver has removed, such as extensions/v1beta1 and
// admissionregistration.k8s.io/v1beta1. It doesn't serve apiextensions.k8s.io/v1beta1: definitions have v1 alone.
func Legacy() Option { return WithAPIs("api/legacy") }

// WithAPIs serves further API versions, as --runtime-config does: "resource.k8s.io/v1beta1", "api/beta". With "=false"
// after its name, a version is not served.
func WithAPIs(groupVersions ...string) Option {
	return func(o *options) error {
		for _, gv := range groupVersions {
			key, value, given := strings.Cut(gv, "=")
			if !given {
				value = "true"
			}
			if earlier, given := o.description.RuntimeConfig[key]; given && earlier != value {
				return fmt.Errorf("WithAPIs: %q is given as %s and as %s: give one of them", key, earlier, value)
			}
			o.description.RuntimeConfig[key] = value
		}
		return nil
	}
}

// WithAdmissionPlugins turns admission plugins on.
func WithAdmissionPlugins(names ...string) Option {
	return func(o *options) error {
		o.description.EnablePlugins = append(o.description.EnablePlugins, names...)
		return o.checkPlugins(names)
	}
}

// WithoutAdmissionPlugins turns admission plugins off.
func WithoutAdmissionPlugins(names ...string) Option {
	return func(o *options) error {
		o.description.DisablePlugins = append(o.description.DisablePlugins, names...)
		return o.checkPlugins(names)
	}
}

// checkPlugins returns an error for a plugin that is both on and off.
func (o *options) checkPlugins(names []string) error {
	for _, name := range names {
		if slices.Contains(o.description.EnablePlugins, name) && slices.Contains(o.description.DisablePlugins, name) {
			return fmt.Errorf("admission plugin %q is in both WithAdmissionPlugins and WithoutAdmissionPlugins", name)
		}
	}
	return nil
}

// WithControllers runs controllers in the server: those that empty deleted namespaces, collect garbage, make service
// accounts, and so on. A name selects one, "*" all, and "-name" excludes one. The names are those of
// kube-controller-manager, such as "namespace-controller" and "garbage-collector-controller". Without the option none run,
// as in envtest.
func WithControllers(names ...string) Option {
	return func(o *options) error {
		if len(names) == 0 {
			return errors.New(`WithControllers names no controller: "*" is all`)
		}
		o.description.Controllers = append(o.description.Controllers, names...)
		return nil
	}
}

// WithFeatureGates turns feature gates on or off.
//
// The gates of k8s.io/apiserver are state of the process, so servers with other gates have another miniapi process. In the
// test's own process (package inprocess), servers that run at the same time must agree: Start fails for a server with
// other gates, whether it has this option or another server has. When the last server has stopped, the gates are as
// before. ServiceAccountNodeAudienceRestriction, which only kube-apiserver has, is accepted too and belongs to one server.
func WithFeatureGates(gates map[string]bool) Option {
	return func(o *options) error {
		for _, name := range sets.List(sets.KeySet(gates)) {
			on := gates[name]
			if earlier, given := o.description.FeatureGates[name]; given && earlier != on {
				return fmt.Errorf("feature gate %s is given as %t and as %t: give one of them", name, earlier, on)
			}
			o.description.FeatureGates[name] = on
		}
		return nil
	}
}

// WithLog writes the server's log as it comes: to t.Output(), which "go test -v" shows, to GinkgoWriter, or to
// os.Stderr. Without the option, a test that fails shows the end of the log. Entries come until the server has stopped.
// The log includes klog's entries of other servers that run at the same time.
func WithLog(to io.Writer) Option {
	return func(o *options) error {
		if isNil(to) {
			return errors.New("the writer of the log is nil: for none, leave the option out")
		}
		o.logTo = to
		return nil
	}
}

// WithEmulatedVersion makes the server serve the kinds and versions of a version of Kubernetes, such as "1.35". The
// feature gates of k8s.io/apiserver are those of that version. Fields and validation are not emulated.
//
// The version is state of the process, like feature gates: see [WithFeatureGates].
func WithEmulatedVersion(minor string) Option {
	return func(o *options) error {
		if minor == "" {
			return errors.New("emulated version \"\": must be as 1.35 is")
		}
		if earlier := o.description.EmulatedVersion; earlier != "" && earlier != minor {
			return fmt.Errorf("WithEmulatedVersion is given as %s and as %s: give one of them", earlier, minor)
		}
		o.description.EmulatedVersion = minor
		return nil
	}
}

// WithUser makes a user at the start, as Server.AddUser does later. Server.User returns its client configuration, and
// KubeconfigFile has a context of its name.
func WithUser(name string, groups ...string) Option {
	return func(o *options) error {
		if name == "" {
			return errNoUserName
		}
		for _, earlier := range o.users {
			if earlier.name == name && !sets.New(earlier.groups...).Equal(sets.New(groups...)) {
				return fmt.Errorf("user %q is given with groups %q and with groups %q: name all of them at once", name, earlier.groups, groups)
			}
		}
		o.users = append(o.users, user{name, groups})
		return nil
	}
}

// WithDataDir keeps the data in a folder. A later server with the same folder has the data.
func WithDataDir(dir string) Option {
	return func(o *options) error {
		if dir == "" {
			return errors.New("a data folder needs a path: without one, leave the option out")
		}
		if earlier := o.description.DataDir; earlier != "" && earlier != dir {
			return fmt.Errorf("WithDataDir is given as %q and as %q: a server has one data folder", earlier, dir)
		}
		o.description.DataDir = dir
		return nil
	}
}
