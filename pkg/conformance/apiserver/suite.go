// Package apiserver is the suite that judges API servers: whether admission, and what clients rely on beside it, is as
// Kubernetes documents it.
//
// A case is a Test of the package trial, in the file of its subject. A case that a real kube-apiserver fails is a wrong
// case. What a server doesn't have, by discovery or version, skips the cases that need it.
//
// Don't add a case for a feature of one server: the sentence of a case is a promise of Kubernetes.
package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// The documents that promises come from.
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

// subjects are the tests of each file.
var subjects = [][]trial.Test{
	reviews, versions, responses, failures, timeouts, defaults, validations, legacy, matching, selectors, conditions, equivalence,
	reinvocation, dryRuns, warnings, ordering, collections, patches, connections, services, customs, policies, mutatingPolicies, conversions, observed,
	writes, applies, lists, watches, lifecycles, formats,
}

// Tests returns all tests that don't depend on what a server serves, in the order of subjects.
func Tests() []trial.Test { return slices.Concat(subjects...) }

// Cases returns the cases for a server, with one for each resource and version that it lists. Without a server, the cases
// can be listed, but not run, and EveryPattern stands for those that depend on discovery.
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
	return trial.Cases(server, append(tests, walks...)), nil
}

// Start connects to a server, and returns when the server can call the webhooks of the selected cases. It fails before it
// makes anything if the client lacks permissions. The caller closes the server.
func Start(ctx context.Context, target trial.Options, selection conformance.Selection) (*trial.Server, []conformance.Case, error) {
	server, err := trial.Connect(ctx, target)
	if err != nil {
		return nil, nil, err
	}
	cases, err := Cases(server)
	if err != nil {
		return nil, nil, err
	}
	if err := server.Permitted(ctx, PermissionsOf(selection.Of(cases))); err != nil {
		return nil, nil, fmt.Errorf("%w; \"miniapi conformance apiserver --rbac\" prints a role that has them", err)
	}
	if err := server.Listen(ctx); err != nil {
		return nil, nil, errors.Join(err, server.Close(ctx))
	}
	return server, cases, nil
}

// Run judges a server.
func Run(ctx context.Context, target trial.Options, options conformance.Options) (conformance.Results, error) {
	server, cases, err := Start(ctx, target, options.Selection)
	if err != nil {
		return nil, err
	}
	results, err := conformance.Run(ctx, cases, options)
	return results, errors.Join(err, server.Close(ctx))
}
