// Package authorization has the kinds of API group authorization.k8s.io, which answers questions about permissions.
// None of its kinds is stored.
package authorization

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// Group is the API group authorization.k8s.io. It answers questions about permissions. None of its kinds is stored.
var Group = registry.Group{
	Name: "authorization.k8s.io",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: authorizationv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: authorizationv1beta1.AddToScheme, OnDemand: true},
	},
	Priority:    17600,
	Conversions: conversions(),
	Kinds: []registry.Kind{
		subjectAccessReviewKind,
		selfSubjectAccessReviewKind,
		localSubjectAccessReviewKind,
		selfSubjectRulesReviewKind,
	},
}
