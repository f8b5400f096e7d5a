package integration_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// In a review of a create, mutating webhooks get the status that the client has sent, with the defaults of its version.
// Validating webhooks get the status that the server sets. A read adds the defaults again. The case order.status of the
// conformance suite tests one kind. This test has the statuses of five kinds.
func TestStatusOfNewObjects(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	w := unreviewed(t, srv)
	recorder := install(t, srv, mutating("mutating", allow(), on("CREATE", "v1", "*")), validating("validating", allow(), on("CREATE", "v1", "*")))
	for _, test := range []struct {
		resource, reason               string
		mutating, validating, answered map[string]any
	}{
		{"persistentvolumeclaims", "only the defaults set the phase", fields{"phase": "Pending"}, fields{}, fields{"phase": "Pending"}},
		{"persistentvolumes", "the defaults and the server set the phase", fields{"phase": "Pending"}, fields{"phase": "Pending", "lastPhaseTransitionTime": nil},
			fields{"phase": "Pending", "lastPhaseTransitionTime": nil}},
		{"namespaces", "the defaults and the server set the phase", fields{"phase": "Active"},
			fields{"phase": "Active"}, fields{"phase": "Active"}},
		{"pods", "only the server sets the phase", fields{}, fields{"phase": "Pending", "qosClass": "BestEffort"},
			fields{"phase": "Pending", "qosClass": "BestEffort"}},
		{"services", "a service has no phase", fields{"loadBalancer": fields{}}, fields{"loadBalancer": fields{}},
			fields{"loadBalancer": fields{}}},
	} {
		t.Run(test.resource, func(t *testing.T) {
			gvr := groupVersionOf("v1").WithResource(test.resource)
			recorder.Reset()
			created := must(w.resource(gvr).Create(t.Context(), w.object(t, gvr), metav1.CreateOptions{}))(t)
			got := map[string]any{"answer": statusFields(created.Object)}
			for _, review := range recorder.Reviews() {
				var object map[string]any
				ok(t, json.Unmarshal(review.Request.Object.Raw, &object))
				if review.Request.Resource.Resource == test.resource {
					got[review.Path] = statusFields(object)
				}
			}
			want := map[string]any{"/mutating": test.mutating, "/validating": test.validating, "answer": test.answered}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: statuses (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// statusFields returns the status of an object. If the status has a lastPhaseTransitionTime, its value is nil.
func statusFields(object map[string]any) map[string]any {
	status, _ := object["status"].(map[string]any)
	status = maps.Clone(status)
	for _, name := range slices.Collect(maps.Keys(status)) {
		if name == "lastPhaseTransitionTime" {
			status[name] = nil
		}
	}
	return status
}
