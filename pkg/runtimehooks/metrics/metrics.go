// Package metrics counts and times calls of hooks, under the names that Cluster API gives these metrics, and the requests
// that an extension serves, under those of controller-runtime's webhooks. Dashboards made for these work unchanged.
//
// A value of Calls or Requests has metrics of its own. The program registers them where it wants them served:
//
//	calls := metrics.NewCalls()
//	legacyregistry.MustRegister(calls.Metrics()...)
//	hooks, err := client.New(client.Options{Observe: calls.Observe, …})
package metrics

import (
	"strconv"

	"k8s.io/component-base/metrics"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/client"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extension"
)

const subsystem = "capi_runtime_sdk"

// Values of labels where there is no other.
const (
	noCode   = "<error>" // an error's text isn't a label: there are too many texts
	noStatus = "Unknown"
)

// Calls are the metrics of a client.
type Calls struct {
	total    *metrics.CounterVec
	duration *metrics.HistogramVec
}

// NewCalls returns metrics for a client.
func NewCalls() *Calls {
	return &Calls{
		total: metrics.NewCounterVec(&metrics.CounterOpts{
			Subsystem: subsystem, Name: "requests_total", StabilityLevel: metrics.ALPHA,
			Help: "Calls of hooks, by HTTP status, host, hook and status of the response.",
		}, []string{"code", "host", "group", "version", "hook", "status"}),
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Subsystem: subsystem, Name: "request_duration_seconds", StabilityLevel: metrics.ALPHA,
			Help: "Seconds that calls of hooks took, by host and hook.",
			Buckets: []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3,
				4, 5, 6, 8, 10, 15, 20, 30, 45, 60},
		}, []string{"host", "group", "version", "hook"}),
	}
}

// Metrics returns the metrics for a registry.
func (c *Calls) Metrics() []metrics.Registerable { return []metrics.Registerable{c.total, c.duration} }

// Observe is client.Options.Observe.
func (c *Calls) Observe(o client.Outcome) {
	if o.Host == "" { // nothing was sent
		return
	}
	code, status := noCode, noStatus
	if o.Code != 0 {
		code = strconv.Itoa(o.Code)
	}
	if o.Ignored == nil && o.Response != nil && o.Response.GetStatus() != "" {
		status = string(o.Response.GetStatus())
	}
	c.total.WithLabelValues(code, o.Host, o.Hook.Group, o.Hook.Version, o.Hook.Hook, status).Inc()
	c.duration.WithLabelValues(o.Host, o.Hook.Group, o.Hook.Version, o.Hook.Hook).Observe(o.Duration.Seconds())
}

// Requests are the metrics of an extension.
type Requests struct {
	total   *metrics.CounterVec
	latency *metrics.HistogramVec
}

// NewRequests returns metrics for an extension.
func NewRequests() *Requests {
	return &Requests{
		total: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "controller_runtime_webhook_requests_total", StabilityLevel: metrics.ALPHA,
			Help: "Requests that were answered, by path and HTTP status.",
		}, []string{"webhook", "code"}),
		latency: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name: "controller_runtime_webhook_latency_seconds", StabilityLevel: metrics.ALPHA,
			Help: "Seconds that the answers to requests took, by path.",
		}, []string{"webhook"}),
	}
}

// Metrics returns the metrics for a registry.
func (r *Requests) Metrics() []metrics.Registerable {
	return []metrics.Registerable{r.total, r.latency}
}

// Observe is extension.Options.Observe.
func (r *Requests) Observe(s extension.Served) {
	r.total.WithLabelValues(s.Path, strconv.Itoa(s.Code)).Inc()
	r.latency.WithLabelValues(s.Path).Observe(s.Duration.Seconds())
}
