package webhook

import (
	"k8s.io/apiserver/pkg/endpoints/request"
)

// step is what tells the calls of the two plugins apart.
type step struct {
	// label is the value of "type" in the metrics.
	label string
	// span names the calls in a trace.
	span string
	// mutating says that a response may have a patch.
	mutating bool
	// tracker is where the time of calls is added up, for the latency of the request.
	tracker func(*request.LatencyTrackers) request.DurationTracker
}

var (
	admit = step{
		label:    "admit",
		span:     "Call mutating webhook",
		mutating: true,
		tracker: func(t *request.LatencyTrackers) request.DurationTracker {
			return t.MutatingWebhookTracker
		},
	}
	validate = step{
		label: "validating",
		span:  "Call validating webhook",
		tracker: func(t *request.LatencyTrackers) request.DurationTracker {
			return t.ValidatingWebhookTracker
		},
	}
)
