package registry

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authenticationv1alpha1 "k8s.io/api/authentication/v1alpha1"
	authenticationv1beta1 "k8s.io/api/authentication/v1beta1"
)

// authenticationGroup answers who somebody is; nothing of it is stored.
var authenticationGroup = Group{
	Name: "authentication.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: authenticationv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: authenticationv1beta1.AddToScheme, OnDemand: true},
		{Name: "v1alpha1", AddToScheme: authenticationv1alpha1.AddToScheme, OnDemand: true},
	},
	Priority: 17700,
	Kinds: []Kind{
		{
			Resource: "tokenreviews",
			Object:   &authenticationv1.TokenReview{},
			Answer:   reviewToken,
		},
		{
			Resource: "selfsubjectreviews",
			Object:   &authenticationv1.SelfSubjectReview{},
			Answer:   func(Dependencies) AnswerFunc { return reviewSelf },
		},
	},
}
