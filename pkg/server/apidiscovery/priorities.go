package apidiscovery

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/server/aggregation"
)

// definitionsGroupPriority and definitionsVersionPriority are the priorities of apiextensions.k8s.io/v1, which isn't in
// the table of built-in kinds.
const (
	definitionsGroupPriority   = 16700
	definitionsVersionPriority = 15
)

// BuiltIn returns the APIServices of the served groups of a table. If the argument "definitions" is true, the server
// also serves the API of custom resource definitions, and the result has the APIService of this API.
func BuiltIn(table *registry.Table, served []registry.APIGroup, definitions bool) []*apiregistrationv1.APIService {
	var services []*apiregistrationv1.APIService
	if definitions {
		services = append(services, aggregation.BuiltIn(apiextensionsv1.SchemeGroupVersion, definitionsGroupPriority, definitionsVersionPriority))
	}
	for _, group := range served {
		for _, gv := range group.Versions {
			groupPriority, versionPriority := table.Priority(gv)
			services = append(services, aggregation.BuiltIn(gv, groupPriority, versionPriority))
		}
	}
	return services
}
