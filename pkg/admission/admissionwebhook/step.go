package admissionwebhook

import (
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// step has everything in which MutatingAdmissionWebhook and ValidatingAdmissionWebhook differ when
// they call webhooks.
type step struct {
	// label is the value of the label "type" in the metrics.
	label string
	// span is the name of a call in an OpenTelemetry trace.
	span string
	// configuration is the kind of the webhook configurations.
	configuration string
	// mutating is true if a response may contain a patch.
	mutating bool
	// tracker returns the request's latency tracker to which the dispatcher adds the time of calls.
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
