package miniapitest

import (
	"net/http"
	"strings"

	utilwebhook "k8s.io/apiserver/pkg/util/webhook"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/server/manifests"
)

// Option changes how a server is started.
type Option func(*options) error

type options struct {
	server  *server.Options
	objects []manifests.Object

	handlers map[string]http.Handler
	// configurations are webhook configurations, whose webhooks must be reached.
	configurations []manifests.Object
	webhooks       []utilwebhook.ClientConfig
	services       []admission.ServicePort
}

func newOptions() *options {
	o := &options{server: server.NewOptions(), handlers: map[string]http.Handler{}}
	o.server.Serving.BindPort = 0
	return o
}

// WithManifests applies manifests before Start returns, in order: files, or folders of
// .yaml, .yml and .json files. Custom resources may follow their definitions.
func WithManifests(paths ...string) Option {
	return func(o *options) error {
		objects, err := manifests.Load(paths...)
		o.objects = append(o.objects, objects...)
		return err
	}
}

// WithServerOptions changes what flags would set.
func WithServerOptions(change func(*server.Options)) Option {
	return func(o *options) error {
		change(o.server)
		return nil
	}
}

// Legacy serves the API versions that today's kube-apiserver no longer serves, such as
// extensions/v1beta1 and admissionregistration.k8s.io/v1beta1.
func Legacy() Option { return WithAPIs("api/legacy") }

// WithAPIs serves further group versions, as --runtime-config does:
// "resource.k8s.io/v1beta1", "api/beta".
func WithAPIs(groupVersions ...string) Option {
	return func(o *options) error {
		for _, gv := range groupVersions {
			key, value, given := strings.Cut(gv, "=")
			if !given {
				value = "true"
			}
			o.server.APIs.RuntimeConfig[key] = value
		}
		return nil
	}
}

// WithAdmissionPlugins turns admission plugins on, by their names.
func WithAdmissionPlugins(names ...string) Option {
	return func(o *options) error {
		o.server.Admission.Enable = append(o.server.Admission.Enable, names...)
		return nil
	}
}

// WithoutAdmissionPlugins turns admission plugins off, by their names.
func WithoutAdmissionPlugins(names ...string) Option {
	return func(o *options) error {
		o.server.Admission.Disable = append(o.server.Admission.Disable, names...)
		return nil
	}
}

// WithDataDir keeps the data in a folder, for a server that is started there again.
func WithDataDir(dir string) Option {
	return func(o *options) error {
		o.server.DataDir = dir
		return nil
	}
}
