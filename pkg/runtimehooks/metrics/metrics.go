// Package metrics has Prometheus metrics of hooks. The metrics of a caller have the same names as in Cluster API.
// The metrics of an extension have the same names as the metrics of webhooks in controller-runtime. Therefore,
// existing dashboards work.
//
// Each value of Calls or Requests has its own metrics. The program registers them in a registry of its choice:
//
//	calls := metrics.NewCalls()
//	legacyregistry.MustRegister(calls.Metrics()...)
//	hooks, err := hookclient.New(hookclient.Options{Observe: calls.Observe, …})
package metrics

import (
	"strconv"

	"k8s.io/component-base/metrics"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extension"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
)

const subsystem = "capi_runtime_sdk"

// noCode is the value of the label for the HTTP status, in calls without an HTTP response. noStatus is the value of
// the label for the response's status, in calls without a valid response.
const (
	noCode   = "<error>" // the text of the error would give the label too many values
	noStatus = "Unknown"
)

// Calls are the metrics of a caller of hooks.
type Calls struct {
	total    *metrics.CounterVec
	duration *metrics.HistogramVec
}

// NewCalls returns the metrics of a caller of hooks.
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

// Metrics returns the metrics, for registration in a Prometheus registry.
func (c *Calls) Metrics() []metrics.Registerable { return []metrics.Registerable{c.total, c.duration} }

// Observe records a call, if a request was sent. Use Observe as hookclient.Options.Observe.
func (c *Calls) Observe(o hookclient.Outcome) {
	if o.Host == "" { // no request was sent, for example because the response is from a cache
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

// NewRequests returns the metrics of an extension.
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

// Metrics returns the metrics, for registration in a Prometheus registry.
func (r *Requests) Metrics() []metrics.Registerable {
	return []metrics.Registerable{r.total, r.latency}
}

// Observe records a request. Use it as extension.Options.Observe.
func (r *Requests) Observe(s extension.Served) {
	r.total.WithLabelValues(s.Path, strconv.Itoa(s.Code)).Inc()
	r.latency.WithLabelValues(s.Path).Observe(s.Duration.Seconds())
}
