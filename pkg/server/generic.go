package server

import (
	"fmt"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericfilters "k8s.io/apiserver/pkg/server/filters"

	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
	"github.com/miniapi-dev/miniapi/pkg/server/apidiscovery"
	"github.com/miniapi-dev/miniapi/pkg/server/health"
	"github.com/miniapi-dev/miniapi/pkg/server/version"
)

// watchGracePeriod is the default of --shutdown-watch-termination-grace-period: the time that watches have to end when
// the server stops.
const watchGracePeriod = 500 * time.Millisecond

// newGenericConfig returns the configuration of k8s.io/apiserver with the general options, and the provider of traces,
// which is nil if requests aren't traced. The configuration leaves out the parts of k8s.io/apiserver that miniapi
// replaces: discovery, OpenAPI, and the list of paths at /.
func newGenericConfig(o CompletedOptions, bootstrapped health.Bootstrapped, manager *apidiscovery.Manager) (*genericapiserver.Config, trace.TracerProvider, error) {
	generic := genericapiserver.NewConfig(o.Table.Codecs())
	generic.Serializer = o.Table.Serializer()
	health.ReplaceLog(generic)
	if err := o.ServerRun.ApplyTo(generic); err != nil {
		return nil, nil, err
	}
	if err := o.Features.ApplyTo(generic, nil, nil); err != nil {
		return nil, nil, err
	}
	if err := o.Tracing.ApplyTo(nil, generic); err != nil {
		return nil, nil, fmt.Errorf("--tracing-config-file %s: %w", o.Tracing.ConfigFile, err)
	}
	generic.EffectiveVersion = version.Effective{EffectiveVersion: generic.EffectiveVersion}
	generic.MergedResourceConfig = o.enabled
	generic.Flagz = o.Flagz
	if generic.ShutdownWatchTerminationGracePeriod == 0 {
		generic.ShutdownWatchTerminationGracePeriod = watchGracePeriod
	}
	// A storage whose watch cache can't be filled, because an object can't be decoded, must not end the start.
	generic.StorageInitializationTimeout = startTimeout / 2
	bootstrapped.AddTo(generic, o.enabled.ResourceEnabled)
	generic.AggregatedDiscoveryGroupManager = manager // the server of custom resources uses it too
	longRunning := genericfilters.BasicLongRunningRequestCheck(
		sets.NewString("watch", "proxy"), sets.NewString("attach", "exec", "proxy", "log", "portforward"))
	generic.LongRunningFunc = func(req *http.Request, info *request.RequestInfo) bool {
		return admissiontrace.IsFollowing(req) || longRunning(req, info)
	}
	if generic.FlowControl == nil {
		// k8s.io/apiserver would count stored objects for API priority and fairness, which is off.
		generic.DisabledPostStartHooks.Insert("storage-object-count-tracker-hook")
	}
	generic.EnableIndex = false     // package apidiscovery installs it
	generic.EnableDiscovery = false // package apidiscovery installs it too
	// k8s.io/apiserver must not serve OpenAPI documents: package openapi makes the documents at the first request for
	// them.
	generic.SkipOpenAPIInstallation = true
	if o.Tracing.ConfigFile == "" {
		return generic, nil, nil
	}
	return generic, generic.TracerProvider, nil
}
