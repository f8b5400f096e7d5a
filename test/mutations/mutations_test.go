package mutations_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver"
)

// For each mutation, the cases in caughtBy fail. Without a mutation, the same cases pass, so the failures come from
// the mutation.
func TestMutations(t *testing.T) {
	t.Parallel()
	good := goodServer(t)
	names, cases := map[string]bool{}, []string{}
	for _, m := range allMutations() {
		if names[m.name] {
			t.Errorf("two mutations have the name %q", m.name)
		}
		names[m.name] = true
		cases = append(cases, strings.Fields(m.caughtBy)...)
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		results, err := apiserver.Run(t.Context(), (&mutation{}).target(t, good), conformance.Options{Selection: conformance.Selection{Only: cases}})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Status != conformance.Passed {
				t.Errorf("%s: want it to pass on a good server, got %s: %s %v", r.ID, r.Status, r.Reason, r.Findings)
			}
		}
	})
	for _, m := range allMutations() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			selection := conformance.Selection{Only: strings.Fields(m.caughtBy)}
			results, err := apiserver.Run(t.Context(), m.target(t, good), conformance.Options{Selection: selection})
			if err != nil {
				t.Fatal(err)
			}
			if len(results) < len(selection.Only) {
				t.Errorf("the server %s: want a case for each of %s, got %d", m.name, m.caughtBy, len(results))
			}
			for _, r := range results {
				if r.Status != conformance.Failed {
					t.Errorf("the server %s: want the case %s to fail, got %s %s", m.name, r.ID, r.Status, r.Reason)
				}
			}
		})
	}
}

// Each case of the suite fails for at least one mutation.
func TestEachCaseHasAMutation(t *testing.T) {
	t.Parallel()
	var caught []string
	for _, m := range allMutations() {
		caught = append(caught, strings.Fields(m.caughtBy)...)
	}
	for _, c := range apiserver.Tests() {
		has := slices.ContainsFunc(caught, func(glob string) bool {
			matched, err := path.Match(glob, c.ID)
			return err == nil && matched
		})
		if !has {
			t.Errorf("case %s: want a mutation that breaks its promise", c.ID)
		}
	}
}

// allMutations returns the mutations of all files. A mutation stands in the file of the first case that it breaks.
func allMutations() []mutation {
	return slices.Concat(
		reviewMutations,
		matrixMutations,
		everyMutations,
		versionMutations,
		conversionMutations,
		responseMutations,
		failureMutations,
		configurationMutations,
		serviceMutations,
		matchingMutations,
		chainMutations,
		dryRunMutations,
		observedMutations,
		policyMutations,
		mutatingPolicyMutations,
		deletionMutations,
		writeMutations,
		readMutations,
	)
}
