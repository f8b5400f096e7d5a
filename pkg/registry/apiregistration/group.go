// Package apiregistration has the kinds of API group apiregistration.k8s.io, which lists the group versions and the
// servers that serve them.
package apiregistration

import (
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// Group is the API group apiregistration.k8s.io. It lists the group versions and the servers that serve them.
var Group = registry.Group{
	Name: apiregistrationv1.GroupName,
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: apiregistrationv1.AddToScheme},
	},
	Priority: 20001,
	Kinds: []registry.Kind{
		apiServiceKind,
	},
}
