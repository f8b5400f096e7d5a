package apiserver

import (
	"strings"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// costs are the mean durations of cases by the first part of their identifiers, on a kube-apiserver with four cases at
// once. A test with a cost of its own keeps it. Subjects that aren't listed have the default.
var costs = map[string]time.Duration{
	"configuration": 10 * time.Millisecond, "response": 120 * time.Millisecond, "dryRun": 140 * time.Millisecond,
	"write": 30 * time.Millisecond, "apply": 40 * time.Millisecond, "list": 60 * time.Millisecond, "watch": 150 * time.Millisecond,
	"finalizer": 30 * time.Millisecond, "delete": 20 * time.Millisecond, "namespace": 20 * time.Millisecond, "format": 20 * time.Millisecond,
	"policy": 1700 * time.Millisecond, "mutatingPolicy": 900 * time.Millisecond, "conversion": 2200 * time.Millisecond,
	"metrics": 650 * time.Millisecond, "audit": 550 * time.Millisecond, "every": 400 * time.Millisecond, "custom": 2500 * time.Millisecond,
}

// estimated gives tests without a cost that of their subject.
func estimated(tests []trial.Test) []trial.Test {
	for i := range tests {
		if subject, _, _ := strings.Cut(tests[i].ID, "."); tests[i].Cost == 0 {
			tests[i].Cost = costs[subject]
		}
	}
	return tests
}
