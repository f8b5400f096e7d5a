package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/control"
)

// options returns the options of the fixture for a server with setup. The handler is nil if the client has none.
func options(o control.Options, e engine.Engine, handler http.Handler, log *events) ([]miniapitest.Option, error) {
	if err := checkBare(o); err != nil {
		return nil, err
	}
	opts := []miniapitest.Option{
		miniapitest.WithEngine(func(engine.Engine) (engine.Engine, error) { return e, nil }),
		miniapitest.WithLog(lineWriter{log}),
		miniapitest.WithAdmissionPlugins(o.EnablePlugins...),
		miniapitest.WithoutAdmissionPlugins(o.DisablePlugins...),
		miniapitest.WithFeatureGates(o.FeatureGates),
		miniapitest.WithFlags(o.Flags...),
	}
	for _, s := range o.Services {
		service := s.Namespace + "/" + s.Name
		if s.Port != 0 {
			service += fmt.Sprintf(":%d", s.Port)
		}
		opts = append(opts, miniapitest.WithFlags("--webhook-service="+service+"="+s.Address))
	}
	for groupVersion, served := range o.RuntimeConfig {
		opts = append(opts, miniapitest.WithAPIs(groupVersion+"="+served))
	}
	if len(o.Controllers) > 0 {
		opts = append(opts, miniapitest.WithControllers(o.Controllers...))
	}
	if w := o.Workloads; w != nil {
		opts = append(opts, miniapitest.WithWorkloads(), miniapitest.WithStages(w.Stages...))
		if w.Nodes != nil {
			opts = append(opts, miniapitest.WithNodes(*w.Nodes))
		}
		if w.RunPods {
			opts = append(opts, miniapitest.WithRunPods())
		}
	}
	if o.EmulatedVersion != "" {
		opts = append(opts, miniapitest.WithEmulatedVersion(o.EmulatedVersion))
	}
	if o.DataDir != "" {
		opts = append(opts, miniapitest.WithDataDir(o.DataDir))
	}
	if o.Audit {
		opts = append(opts, audited(o.AuditPolicy, log))
	}
	setup, err := setupOptions(o.Setup, handler)
	return append(opts, setup...), err
}

// checkBare returns an error if a server with setup has an option that is for fixtures alone, which do the work of setup
// themselves.
func checkBare(o control.Options) error {
	for _, option := range []struct {
		field string
		given bool
	}{
		{"definitions", len(o.Definitions) > 0}, {"definitionManager", o.DefinitionManager != ""},
		{"callers", len(o.Callers) > 0}, {"kept", o.Kept != ""}, {"leftover", o.Leftover != ""},
	} {
		if option.given {
			return fmt.Errorf("%s: must be left out with setup, which installs definitions and objects itself", option.field)
		}
	}
	return nil
}

// audited passes audit events to the client.
func audited(policy json.RawMessage, log *events) miniapitest.Option {
	var rules any // WithAudit records all requests if the policy is nil
	if len(policy) > 0 {
		rules = policy
	}
	return miniapitest.WithAudit(rules, func(event *json.RawMessage) { log.audit(*event) })
}

// setupOptions returns the options for what the host does at the start.
func setupOptions(s *control.Setup, handler http.Handler) ([]miniapitest.Option, error) {
	var opts []miniapitest.Option
	for _, files := range []struct {
		paths  []string
		option func(...string) miniapitest.Option
	}{
		{s.CRDs, miniapitest.WithCRDs}, {s.Manifests, miniapitest.WithManifests},
		{s.WebhookManifests, miniapitest.WithWebhookManifests},
	} {
		if len(files.paths) > 0 {
			opts = append(opts, files.option(files.paths...))
		}
	}
	objects := make([]runtime.Object, len(s.Objects))
	for i, object := range s.Objects {
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(object, &u.Object); err != nil {
			return nil, fmt.Errorf("setup.objects[%d]: %w", i, err)
		}
		objects[i] = u
	}
	opts = append(opts, miniapitest.WithObjects(objects...))
	for _, user := range s.Users {
		opts = append(opts, miniapitest.WithUser(user.Name, user.Groups...))
	}
	if s.Trace {
		opts = append(opts, miniapitest.WithTrace())
	}
	if handler != nil {
		opts = append(opts, miniapitest.WithWebhook("/", handler))
		for _, service := range s.Handler.Services {
			opts = append(opts, miniapitest.WithWebhookService(service.Namespace, service.Name))
		}
	}
	return opts, nil
}

// idleHandler is the time for which an unused connection to a client's handler stays open.
const idleHandler = 30 * time.Second

// handlerOf returns a handler that passes requests to the client's HTTP server, or nil if the client has none.
func handlerOf(s *control.Setup) (http.Handler, error) {
	if s.Handler == nil {
		return nil, nil
	}
	address, err := url.Parse(s.Handler.Address)
	if err != nil || address.Scheme != "http" || address.Host == "" {
		return nil, fmt.Errorf("setup.handler.address %q: must be http://HOST:PORT, the address of a server of this machine", s.Handler.Address)
	}
	if ip := net.ParseIP(address.Hostname()); address.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("setup.handler.address %q: the host must be localhost or a loopback address", s.Handler.Address)
	}
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(address) },
		Transport: &http.Transport{DisableCompression: true, IdleConnTimeout: idleHandler},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, fmt.Sprintf("the handler at %s: %v", s.Handler.Address, err), http.StatusBadGateway)
		},
	}, nil
}

// lineWriter passes the lines that are written to the events of a server. Each write is a whole line.
type lineWriter struct{ *events }

// Write implements io.Writer.
func (w lineWriter) Write(line []byte) (int, error) {
	text := strings.TrimSuffix(string(line), "\n")
	w.add(control.Event{Log: &text})
	return len(line), nil
}

// fields has the options of the Go fixture that its errors name, with the fields of the protocol that set them.
var fields = strings.NewReplacer(
	"WithAdmissionPlugins", "enablePlugins", "WithoutAdmissionPlugins", "disablePlugins", "WithFeatureGates", "featureGates",
	"WithFlags", "flags", "WithAPIs", "runtimeConfig", "WithControllers", "controllers",
	"WithWorkloads", "workloads", "WithNodes", "workloads.nodes", "WithStages", "workloads.stages", "WithRunPods", "workloads.runPods",
	"WithEmulatedVersion", "emulatedVersion", "WithDataDir", "dataDir", "WithAudit", "audit",
	"WithCRDs", "setup.crds", "WithManifests", "setup.manifests", "WithObjects", "setup.objects",
	"WithWebhookManifests", "setup.webhookManifests", "WithWebhookService", "setup.handler.services",
	"WithWebhook", "setup.handler", "WithUser", "setup.users", "WithTrace", "setup.trace",
	"Server.KubeconfigFile", "kubeconfig", "WithLog", "the events",
	"reading webhook configurations: ", "setup.webhookManifests: ", "webhook configurations: none", "setup.webhookManifests: none",
	"custom resource definitions: ", "setup.crds: ", "manifests: ", "setup.manifests: ",
)

// named returns an error of the fixture, or nil, with the names of the protocol's fields in place of those of the
// fixture's options.
func named(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(fields.Replace(err.Error()))
}
