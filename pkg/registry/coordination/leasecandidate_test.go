package coordination

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestLeaseCandidate(t *testing.T) {
	t.Parallel()
	candidate := func(lease, binary, emulation, strategy string) *coordinationv1beta1.LeaseCandidate {
		c := &coordinationv1beta1.LeaseCandidate{ObjectMeta: registrytest.Stored("candidate")}
		c.Spec.LeaseName, c.Spec.BinaryVersion, c.Spec.EmulationVersion = lease, binary, emulation
		c.Spec.Strategy = coordinationv1.CoordinatedLeaseStrategy(strategy)
		return c
	}
	const oldest = "OldestEmulationVersion"
	named := candidate("Lease_1", "1.37.0", "1.37.0", oldest)
	named.Name, named.Finalizers = "Host_1", []string{"foo"}
	for _, tc := range []struct {
		name, reason string
		errs         field.ErrorList
		want         []string
	}{{
		name: "older", reason: "a new binary may emulate the last minor version",
		errs: validateLeaseCandidate(candidate("l", "1.37.2", "1.36.0", oldest)),
	}, {
		name: "nothing", reason: "the election needs all fields", errs: validateLeaseCandidate(candidate("", "", "", "")),
		want: []string{"spec.leaseName: Required value", "spec.binaryVersion: Required value", "spec.strategy: Required value"},
	}, {
		name: "no emulation", reason: "the strategy compares emulation versions",
		errs: validateLeaseCandidate(candidate("l", "1.37.0", "", oldest)),
		want: []string{"spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'"},
	}, {
		name: "newer", reason: "a binary can't emulate a newer version",
		errs: validateLeaseCandidate(candidate("l", "1.36.0", "1.37.0", oldest)),
		want: []string{"spec.binaryVersion: Invalid value: \"1.36.0\": must be greater than or equal to `emulationVersion`"},
	}, {
		name: "no versions", reason: "the election compares versions", errs: validateLeaseCandidate(candidate("l", "v1", "1.37", oldest)),
		want: []string{
			`spec.emulationVersion: Invalid value: "1.37": must be a valid semantic version`,
			`spec.binaryVersion: Invalid value: "v1": must be a valid semantic version`,
			"spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'",
		},
	}, {
		name: "no binary version", reason: "an invalid version is older than any other",
		errs: validateLeaseCandidate(candidate("l", "v1", "1.37.0", oldest)),
		want: []string{
			`spec.binaryVersion: Invalid value: "v1": must be a valid semantic version`,
			"spec.binaryVersion: Invalid value: \"v1\": must be greater than or equal to `emulationVersion`",
		},
	}, {
		name: "name of a process", reason: "the server makes names of candidates of host names and random parts",
		errs: validateLeaseCandidate(named),
	}, {
		name: "updated name of a process", reason: "an update allows the same finalizers",
		errs: validateLeaseCandidateUpdate(named, named),
	}, {
		name: "unknown strategy", reason: "strategies without a domain are those of Kubernetes",
		errs: validateLeaseCandidate(candidate("l", "1.37.0", "1.37.0", "oldest")),
		want: []string{`spec.strategy.strategy: Unsupported value: "oldest": supported values: "OldestEmulationVersion"`},
	}, {
		name: "another lease", reason: "the lease of a candidate never changes",
		errs: validateLeaseCandidateUpdate(candidate("m", "1.37.0", "1.37.0", oldest), candidate("l", "1.37.0", "1.37.0", oldest)),
		want: []string{`spec.leaseName: Invalid value: "m": field is immutable`},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, tc.errs, tc.want...)
		})
	}
}
