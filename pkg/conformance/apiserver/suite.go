// Package apiserver is the suite of cases that check an API server: whether its admission, and the behaviour that
// clients rely on, follow the documentation of Kubernetes.
//
// A case is a Test of the package trial. Cases about the same subject are in the same file. A promise that concerns all
// operations of admission is a row of the matrix, which has a case for each operation. If a case fails for a real
// kube-apiserver, the case is wrong. A case is skipped if the server doesn't meet the case's needs, such as a resource
// or a version of Kubernetes.
//
// Don't add a case for a feature that only one server has: each case must quote a promise of Kubernetes.
package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// These are the documents that the promises quote.
const (
	dynamic     = "Dynamic Admission Control, "
	kep492      = "KEP-492, "
	chain       = "Admission control changes, "
	reference   = "Kubernetes API reference, "
	concepts    = "Kubernetes API Concepts, "
	applyPages  = "Server-Side Apply, "
	policyPages = "Validating Admission Policy, "
	mutatingPol = "Mutating Admission Policy, "
	crdVersions = "Versions in CustomResourceDefinitions, "
)

// subjects has the cases that exist for every server, in the order of reports.
var subjects = [][]trial.Test{
	reviews, versions, responses, failures, timeouts, defaults, merges, validations, legacy, matching, selectors, conditions, equivalence,
	reinvocation, matrix, dryRuns, warnings, ordering, phases, plugins, repeats, collections, patches, connections,
	services, customs, policies, mutatingPolicies, conversions, observed,
	writes, applies, lists, watches, deletions, namespaces, formats,
}

// Tests returns all cases that exist for every server, in the order of subjects.
func Tests() []trial.Test { return slices.Concat(subjects...) }

// Cases returns the cases for a server, with a case for each resource, subresource and version of the server. If the
// server is nil, the cases can be listed, but not run, and one case with the identifier EveryPattern stands for the
// cases of resources.
func Cases(server *trial.Server) ([]conformance.Case, error) {
	tests := Tests()
	if server == nil {
		listed := trial.Test{ID: EveryPattern, Promise: everyPromise + ".", Source: dynamic + "Request"}
		return trial.Cases(nil, append(tests, listed)), nil
	}
	walks, err := every(server.Resources)
	if err != nil {
		return nil, err
	}
	return trial.Cases(server, estimated(append(tests, walks...))), nil
}

// Adapted returns a selection for cases that Cases has returned. The server decides which cases with the prefix
// "every." exist, so a glob that begins with "every." may match none of the cases. Adapted removes such a glob from
// Skip. If the cases were listed without a server, Adapted replaces such a glob in Only by EveryPattern.
func Adapted(selection conformance.Selection, cases []conformance.Case) conformance.Selection {
	undecided := func(glob string) bool {
		one := conformance.Selection{Only: []string{glob}}
		return strings.HasPrefix(glob, everyPrefix) && len(one.Of(cases)) == 0
	}
	selection.Skip = slices.DeleteFunc(slices.Clone(selection.Skip), undecided)
	if slices.ContainsFunc(cases, func(c conformance.Case) bool { return c.ID == EveryPattern }) {
		selection.Only = slices.Clone(selection.Only)
		for i, glob := range selection.Only {
			if undecided(glob) {
				selection.Only[i] = EveryPattern
			}
		}
	}
	return selection
}

// Connect connects to a server, and returns the server with its cases. It returns an error if the client lacks
// permissions that the selected cases need. The server can't call the webhooks of cases yet: Start makes them reachable.
func Connect(ctx context.Context, target trial.Options, selection conformance.Selection) (*trial.Server, []conformance.Case, error) {
	server, err := trial.Connect(ctx, target)
	if err != nil {
		return nil, nil, err
	}
	cases, err := Cases(server)
	if err != nil {
		return nil, nil, err
	}
	selection = Adapted(selection, cases)
	if err := selection.Check(cases); err != nil {
		return nil, nil, err
	}
	if err := server.Permitted(ctx, PermissionsOf(selection.Of(cases))); err != nil {
		return nil, nil, fmt.Errorf("%w; \"miniapi conformance apiserver --rbac\" prints a role with all of these permissions", err)
	}
	return server, cases, nil
}

// Start connects to a server, and returns when the server can call the webhooks of the selected cases. If the client
// lacks permissions, Start fails before it creates an object. The caller closes the server.
func Start(ctx context.Context, target trial.Options, selection conformance.Selection) (*trial.Server, []conformance.Case, error) {
	server, cases, err := Connect(ctx, target, selection)
	if err != nil {
		return nil, nil, err
	}
	if err := server.Listen(ctx); err != nil {
		return nil, nil, errors.Join(err, server.Close(ctx))
	}
	return server, cases, nil
}

// Run runs the suite for a server, and then removes the objects of the run.
func Run(ctx context.Context, target trial.Options, options conformance.Options) (conformance.Results, error) {
	server, cases, err := Start(ctx, target, options.Selection)
	if err != nil {
		return nil, err
	}
	options.Selection = Adapted(options.Selection, cases)
	results, err := conformance.Run(ctx, cases, options)
	return results, errors.Join(err, server.Close(ctx))
}

// costs maps a subject, the first part of an identifier, to the mean duration of the subject's cases. The cases ran on
// a kube-apiserver, four at the same time. Cases of other subjects have the default cost.
var costs = map[string]time.Duration{
	"configuration": 10 * time.Millisecond, "response": 120 * time.Millisecond, "dryRun": 140 * time.Millisecond,
	"write": 30 * time.Millisecond, "apply": 40 * time.Millisecond, "list": 60 * time.Millisecond, "watch": 150 * time.Millisecond,
	"finalizer": 30 * time.Millisecond, "delete": 20 * time.Millisecond, "namespace": 20 * time.Millisecond,
	"format": 20 * time.Millisecond,
	"policy": 1700 * time.Millisecond, "mutatingPolicy": 900 * time.Millisecond, "conversion": 2200 * time.Millisecond,
	"matrix": 400 * time.Millisecond, "metrics": 650 * time.Millisecond, "audit": 550 * time.Millisecond,
	"every": 400 * time.Millisecond, "custom": 2500 * time.Millisecond,
}

// estimated sets the cost of each test without a cost to the cost of its subject.
func estimated(tests []trial.Test) []trial.Test {
	for i := range tests {
		if subject, _, _ := strings.Cut(tests[i].ID, "."); tests[i].Cost == 0 {
			tests[i].Cost = costs[subject]
		}
	}
	return tests
}

// sourced sets the source of the tests without a source.
func sourced(source string, tests []trial.Test) []trial.Test {
	for i := range tests {
		if tests[i].Source == "" {
			tests[i].Source = source
		}
	}
	return tests
}
