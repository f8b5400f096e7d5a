package discovery

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/server/aggregation"
)

// definitionsPriority is the priority of the group apiextensions.k8s.io, which isn't in the table of built-in kinds.
const definitionsPriority = 16700

// versionPriority is the priority of a group's last version. Each earlier version has a priority that is higher by
// versionPriority.
const versionPriority = 15

// BuiltIn returns the APIServices of the served groups of a table. If the argument "definitions" is true, the server
// also serves the API of custom resource definitions, and the result has the APIService of this API.
func BuiltIn(table *registry.Table, served []registry.APIGroup, definitions bool) []*apiregistrationv1.APIService {
	var groups [][]schema.GroupVersion
	if definitions {
		groups = append(groups, []schema.GroupVersion{apiextensionsv1.SchemeGroupVersion})
	}
	for _, group := range served {
		groups = append(groups, group.Versions)
	}
	var services []*apiregistrationv1.APIService
	for _, versions := range groups {
		for rank, gv := range versions {
			services = append(services, aggregation.BuiltIn(gv, groupPriority(table, gv.Group), int32(versionPriority*(len(versions)-rank))))
		}
	}
	return services
}

// groupPriority returns the priority of a group (see registry.Group.Priority).
func groupPriority(table *registry.Table, group string) int32 {
	if group == apiextensionsv1.GroupName {
		return definitionsPriority
	}
	return table.Priority(group)
}
