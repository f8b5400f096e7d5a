package apiserver

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes/scheme"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// EveryPattern stands, in lists of cases, for the identifiers of the cases that exist for each resource of a server.
const EveryPattern = "every.GROUP.VERSION.RESOURCE"

const everyPromise = "Each verb of a resource that discovery lists is reviewed with its operation, objects, options, dry run and names, " +
	"in each version and subresource; reads aren't reviewed"

// risky are resources whose objects affect more than the case, so the cases don't create such objects on a server with
// other users.
var risky = []string{
	"apiservices", "devicetaintrules", "flowschemas", "ipaddresses", "nodes", "prioritylevelconfigurations", "resourcepoolstatusrequests",
	"resourceslices", "servicecidrs", "storageversionmigrations", "storageversions", "volumeattachments",
}

// every returns a test for each resource, subresource and version that a server lists. Deletions of collections without
// a namespace have a test of their own, because they need a server that nothing else uses.
func every(resources []trial.Resource) ([]trial.Test, error) {
	samples, err := readSamples()
	if err != nil {
		return nil, err
	}
	var tests []trial.Test
	add := func(r trial.Resource, part string, needs []trial.Need, run func(*walk)) {
		if part != "" {
			part = "." + part
		}
		tests = append(tests, trial.Test{
			ID: fmt.Sprintf("every.%s.%s.%s%s", groupOf(r), r.Version, r.Name, part), Source: dynamic + "Request",
			Promise: everyPromise + ": " + r.String() + ".", Needs: needs,
			Run: func(t *trial.T) { run(newWalk(t, r, samples)) },
		})
	}
	for _, r := range resources {
		var needs []trial.Need
		if slices.Contains(risky, r.Name) && !connects(r) && !readOnly(r) {
			needs = append(needs, trial.Disposable)
		}
		if unlabelled[r.Name] != "" || connects(r) {
			needs = append(needs, trial.Since(30)) // match conditions confine the webhooks
		}
		if r.Subresource != "" {
			add(r, r.Subresource, needs, (*walk).subresource)
			continue
		}
		add(r, "", needs, (*walk).object)
		if slices.Contains(r.Verbs, "deletecollection") && !r.Namespaced {
			add(r, "deletecollection", append(needs, trial.Disposable), (*walk).collection)
		}
	}
	return tests, nil
}

// foreign tells whether a group doesn't belong to Kubernetes. A resource of such a group may have the name of a
// resource in objects.yaml by chance.
func foreign(group string) bool {
	return !scheme.Scheme.IsGroupRegistered(group) && group != trial.Definitions.Group && group != "apiregistration.k8s.io"
}

// readOnly tells whether a resource has no verb that admission reviews.
func readOnly(r trial.Resource) bool {
	return !slices.ContainsFunc(r.Verbs, func(verb string) bool { return !slices.Contains([]string{"get", "list", "watch"}, verb) })
}

// connects tells whether requests of a subresource are connections: their kinds are options.
func connects(r trial.Resource) bool {
	return r.Subresource != "" && strings.HasSuffix(r.Kind, "Options")
}

// groupOf returns the group for the identifier of a case. It is "core" for the group without a name, because a part of
// an identifier can't be empty.
func groupOf(r trial.Resource) string {
	if r.Group == "" {
		return "core"
	}
	return r.Group
}
