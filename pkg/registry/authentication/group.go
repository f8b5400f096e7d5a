// Package authentication has the kinds of API group authentication.k8s.io, which answers questions about users. None of
// its kinds is stored.
package authentication

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authenticationv1alpha1 "k8s.io/api/authentication/v1alpha1"
	authenticationv1beta1 "k8s.io/api/authentication/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// Group is the API group authentication.k8s.io. It answers questions about users. None of its kinds is stored.
var Group = registry.Group{
	Name: "authentication.k8s.io",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: authenticationv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: authenticationv1beta1.AddToScheme, OnDemand: true},
		{Name: "v1alpha1", AddToScheme: authenticationv1alpha1.AddToScheme, OnDemand: true, Priority: 1},
	},
	Priority: 17700,
	Kinds: []registry.Kind{
		tokenReviewKind,
		selfSubjectReviewKind,
	},
}
