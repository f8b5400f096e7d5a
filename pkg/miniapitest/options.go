package miniapitest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
)

// Option is an option of Start and New.
type Option func(*options) error

// options are the options of one server.
type options struct {
	engine engine.Engine
	// description has the options that an engine needs, as data.
	description engine.Description
	users       []user

	// Start applies these objects in this order. configurations are webhook configurations.
	definitions, objects, configurations []installed

	handlers map[string]http.Handler
	services []engine.Place // from WithWebhookService
	// extensions are the runtime extensions of WithRuntimeExtension.
	extensions []extension
	// reachTimeout limits the time for which Start waits until the server can reach a webhook.
	reachTimeout time.Duration

	folder    string // for the server's files
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

// applied returns the options of a server.
func applied(opts []Option) (*options, error) {
	o := newOptions()
	o.engine = processes
	for i, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("option %d of the server is nil: leave the option out", i+1)
		}
		if err := opt(o); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// reachTimeout is the default time for which Start waits until the server can reach a webhook.
const reachTimeout = 10 * time.Second

// isNil tells whether a value is nil, or an interface that holds a nil pointer or function.
func isNil(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil()
}

// Legacy serves API versions that kube-apiserver has removed, such as extensions/v1beta1 and
// admissionregistration.k8s.io/v1beta1. Custom resource definitions are still served in v1 only.
func Legacy() Option { return WithAPIs("api/legacy") }

// WithAPIs serves further API versions, as --runtime-config does: "resource.k8s.io/v1beta1", "api/beta". With "=false"
// at the end, a version is not served.
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

// checkPlugins returns an error if options turn a plugin both on and off.
func (o *options) checkPlugins(names []string) error {
	for _, name := range names {
		if slices.Contains(o.description.EnablePlugins, name) && slices.Contains(o.description.DisablePlugins, name) {
			return fmt.Errorf("admission plugin %q is in both WithAdmissionPlugins and WithoutAdmissionPlugins: name the plugin in one of them", name)
		}
	}
	return nil
}

// WithControllers runs controllers of kube-controller-manager in the server, for example to delete the objects of
// deleted namespaces, to collect garbage, or to make service accounts. A name selects a controller, "*" selects all,
// and "-name" excludes one. The names are those of kube-controller-manager, such as "namespace-controller" and
// "garbage-collector-controller". Without the option, no controller runs, as in envtest.
func WithControllers(names ...string) Option {
	return func(o *options) error {
		if len(names) == 0 {
			return errors.New(`WithControllers: name at least one controller; "*" stands for all`)
		}
		o.description.Controllers = append(o.description.Controllers, names...)
		return nil
	}
}

// WithWorkloads runs workloads in the server: all controllers, unless WithControllers names some, a scheduler, and one
// node. The pods only pretend to run, and become ready at once, so that Deployments become available and Jobs complete.
// Server.Pods has the pods' clock.
func WithWorkloads() Option {
	return func(o *options) error {
		o.workloads()
		return nil
	}
}

// WithNodes runs workloads on a number of nodes. See [WithWorkloads].
func WithNodes(n int) Option {
	return func(o *options) error {
		o.workloads().Nodes = &n
		return nil
	}
}

// WithStages runs workloads whose pods and nodes go through stages (see [WithWorkloads]). A value is the path of a file
// with kwok's Stages, or the name of a set that is built in, such as "slow-start" or "crash-loop". A name may have a label
// selector, as in "crash-loop:app=web".
func WithStages(stages ...string) Option {
	return func(o *options) error {
		w := o.workloads()
		for _, value := range stages {
			if _, err := os.Stat(value); err == nil { // the server's process may have another working directory
				if value, err = filepath.Abs(value); err != nil {
					return fmt.Errorf("WithStages: %w", err)
				}
			}
			w.Stages = append(w.Stages, value)
		}
		return nil
	}
}

// WithRunPods runs workloads (see [WithWorkloads]), and runs the containers of pods with the annotation
// miniapi.dev/command as processes of this machine, as the user of the test. A relative path in the annotation is relative
// to the working directory that the test process has when it starts its first server. The processes end with the server,
// and with the test process, however that ends. Restore and Reset end the processes of the pods that didn't run when the
// snapshot was taken.
func WithRunPods() Option {
	return func(o *options) error {
		o.workloads().RunPods = true
		return nil
	}
}

// workloads returns the workloads of the description.
func (o *options) workloads() *engine.Workloads {
	if o.description.Workloads == nil {
		o.description.Workloads = &engine.Workloads{}
	}
	return o.description.Workloads
}

// WithFeatureGates turns feature gates on or off.
//
// A process has one set of gates, so servers with different gates run in different miniapi processes. With package
// inprocess there is only the test's own process: servers that run at the same time must have the same gates, and Start
// fails otherwise. When the last server has stopped, the gates have their earlier values again. The gates that only
// kube-apiserver has, such as ServiceAccountNodeAudienceRestriction, can differ from server to server.
func WithFeatureGates(gates map[string]bool) Option {
	return func(o *options) error {
		for _, name := range sets.List(sets.KeySet(gates)) {
			on := gates[name]
			if earlier, given := o.description.FeatureGates[name]; given && earlier != on {
				return fmt.Errorf("WithFeatureGates: feature gate %s is given as %t and as %t: give one of them", name, earlier, on)
			}
			o.description.FeatureGates[name] = on
		}
		return nil
	}
}

// WithEmulatedVersion makes the server serve the kinds and API versions of an earlier version of Kubernetes, such as
// "1.35", with the feature gates that k8s.io/apiserver had then. Fields that are newer are dropped from writes.
// Validation and defaults aren't emulated.
//
// A process has one emulated version, so servers with different versions need different processes: see
// [WithFeatureGates].
func WithEmulatedVersion(minor string) Option {
	return func(o *options) error {
		if minor == "" {
			return errors.New("WithEmulatedVersion(\"\"): must be MAJOR.MINOR, such as 1.35")
		}
		if earlier := o.description.EmulatedVersion; earlier != "" && earlier != minor {
			return fmt.Errorf("WithEmulatedVersion is given as %s and as %s: give one of them", earlier, minor)
		}
		o.description.EmulatedVersion = minor
		return nil
	}
}

// WithDataDir keeps the server's data in a folder. A later server with the same folder has the same objects.
func WithDataDir(dir string) Option {
	return func(o *options) error {
		if dir == "" {
			return errors.New("WithDataDir: a data folder needs a path: to keep no data, leave the option out")
		}
		if earlier := o.description.DataDir; earlier != "" && earlier != dir {
			return fmt.Errorf("WithDataDir is given as %q and as %q: give one of them, because a server has one data folder", earlier, dir)
		}
		o.description.DataDir = dir
		return nil
	}
}

// ownFlags are the flags that WithFlags refuses. The values are the remedies, such as the fixture's option that does the
// same.
var ownFlags = map[string]string{
	"apply":                     "use WithManifests",
	"apply-skip-unknown":        "leave the flag out, and give WithManifests only objects of known kinds",
	"log-requests":              "use WithTrace, WithAudit or WithLog",
	"write-kubeconfig":          "use Server.KubeconfigFile, the path of a kubeconfig that the fixture writes",
	"data-dir":                  "use WithDataDir",
	"controllers":               "use WithControllers",
	"workloads":                 "use WithWorkloads",
	"nodes":                     "use WithNodes",
	"stages":                    "use WithStages",
	"run-pods":                  "use WithRunPods",
	"disable-admission-plugins": "use WithoutAdmissionPlugins",
	"emulated-version":          "use WithEmulatedVersion",
	"enable-admission-plugins":  "use WithAdmissionPlugins",
	"feature-gates":             "use WithFeatureGates",
	"min-compatibility-version": "leave the flag out, because all servers of the process have one compatibility version",
	"runtime-config":            "use WithAPIs",
	"secure-port":               "leave the flag out, because the server takes a free port",
}

// WithFlags sets flags of "miniapi serve", each as --name=value, or as --name for true. "miniapi serve --help-all"
// lists the flags. Relative paths in flags start at the working directory that the test process has when it starts its
// first server. This directory is usually the folder of the test.
func WithFlags(flags ...string) Option {
	return func(o *options) error {
		for _, flag := range flags {
			name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
			if !strings.HasPrefix(flag, "--") || name == "" {
				return fmt.Errorf("WithFlags: %q: a flag must be --name=value, or --name for true", flag)
			}
			if instead, own := ownFlags[name]; own {
				return fmt.Errorf("WithFlags: %q: the flag is not for servers of tests: %s", flag, instead)
			}
		}
		o.description.Flags = append(o.description.Flags, flags...)
		return nil
	}
}
