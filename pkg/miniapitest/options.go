package miniapitest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/component-base/featuregate"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// Option changes how a server is started.
type Option func(*options) error

type options struct {
	server *server.Options
	users  []user

	// Objects to apply: see steps.
	definitions, objects, configurations []installed

	emulated string          // of WithEmulatedVersion
	gates    map[string]bool // of WithFeatureGates

	handlers map[string]http.Handler
	services []admission.ServicePort // of WithWebhookService
	// reachTimeout bounds the time until a webhook listens.
	reachTimeout time.Duration

	logTo       io.Writer
	auditPolicy *auditinternal.Policy
	auditSink   audit.Backend
}

type user struct {
	name   string
	groups []string
}

func newOptions() *options {
	o := &options{server: server.NewOptions(), handlers: map[string]http.Handler{}, gates: map[string]bool{}, reachTimeout: reachTimeout}
	o.server.Serving.BindPort = 0
	o.server.FeatureGates = map[string]bool{}
	return o
}

// isNil is also true for an interface with a nil pointer or function.
func isNil(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil()
}

// WithServerOptions changes options that flags of "miniapi serve" set.
func WithServerOptions(change func(*server.Options)) Option {
	return func(o *options) error {
		if change == nil {
			return errors.New("the function that changes the server's options is nil")
		}
		change(o.server)
		return nil
	}
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
			if earlier, given := o.server.APIs.RuntimeConfig[key]; given && earlier != value {
				return fmt.Errorf("WithAPIs: %q is given as %s and as %s: give one of them", key, earlier, value)
			}
			o.server.APIs.RuntimeConfig[key] = value
		}
		return nil
	}
}

// WithAdmissionPlugins turns admission plugins on.
func WithAdmissionPlugins(names ...string) Option {
	return func(o *options) error {
		o.server.Admission.Enable = append(o.server.Admission.Enable, names...)
		return o.checkPlugins("WithAdmissionPlugins", names)
	}
}

// WithoutAdmissionPlugins turns admission plugins off.
func WithoutAdmissionPlugins(names ...string) Option {
	return func(o *options) error {
		o.server.Admission.Disable = append(o.server.Admission.Disable, names...)
		return o.checkPlugins("WithoutAdmissionPlugins", names)
	}
}

// checkPlugins validates names as the server does. The error has the name of the option instead of the flag.
func (o *options) checkPlugins(option string, names []string) error {
	for _, name := range names {
		if slices.Contains(o.server.Admission.Enable, name) && slices.Contains(o.server.Admission.Disable, name) {
			return fmt.Errorf("admission plugin %q is in both WithAdmissionPlugins and WithoutAdmissionPlugins", name)
		}
	}
	plugins := admission.NewOptions()
	plugins.Enable = names
	for _, err := range plugins.Validate() {
		return fmt.Errorf("%s: %s", option, strings.TrimPrefix(err.Error(), "--enable-admission-plugins: "))
	}
	return nil
}

// WithFeatureGates turns feature gates on or off.
//
// The gates of k8s.io/apiserver are state of the process. So servers that run at the same time must agree: Start fails
// for a server with other gates, whether it has this option or another server has. When the last server has stopped,
// the gates are as before. ServiceAccountNodeAudienceRestriction, which only kube-apiserver has, is accepted too and
// belongs to one server.
func WithFeatureGates(gates map[string]bool) Option {
	return func(o *options) error {
		known := o.server.KnownFeatureGates()
		for _, name := range slices.Sorted(maps.Keys(gates)) {
			on := gates[name]
			if earlier, given := o.gates[name]; given && earlier != on {
				return fmt.Errorf("feature gate %s is given as %t and as %t: give one of them", name, earlier, on)
			}
			o.gates[name] = on
			if o.server.Admission.SetGate(name, on) {
				continue
			}
			if known[featuregate.Feature(name)] == nil {
				return fmt.Errorf("WithFeatureGates: feature gate %s is unknown, or has no effect in miniapi", name)
			}
			o.server.FeatureGates[name] = on
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
		if o.emulated != "" && o.emulated != minor {
			return fmt.Errorf("WithEmulatedVersion is given as %s and as %s: give one of them", o.emulated, minor)
		}
		o.emulated = minor
		return o.server.EmulateVersion(minor)
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
		if earlier := o.server.DataDir; earlier != "" && earlier != dir {
			return fmt.Errorf("WithDataDir is given as %q and as %q: a server has one data folder", earlier, dir)
		}
		o.server.DataDir = dir
		return nil
	}
}
