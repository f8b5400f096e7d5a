package webhook

import (
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/trace"
)

// step has the differences between the calls of the two plugins.
type step struct {
	// label is the value of "type" in the metrics.
	label string
	// span is the name of the calls in a trace.
	span string
	// configuration is the kind of the webhooks' configurations.
	configuration string
	// mutating is true if a response may have a patch.
	mutating bool
	// tracker adds the time of calls to the latency of the request.
	tracker func(*request.LatencyTrackers) request.DurationTracker
}

var (
	admit = step{
		label:         "admit",
		span:          "Call mutating webhook",
		configuration: trace.MutatingConfiguration,
		mutating:      true,
		tracker: func(t *request.LatencyTrackers) request.DurationTracker {
			return t.MutatingWebhookTracker
		},
	}
	validate = step{
		label:         "validating",
		span:          "Call validating webhook",
		configuration: trace.ValidatingConfiguration,
		tracker: func(t *request.LatencyTrackers) request.DurationTracker {
			return t.ValidatingWebhookTracker
		},
	}
)
