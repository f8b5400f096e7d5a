package registry

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
)

// authorizationGroup answers what somebody may do; nothing of it is stored.
var authorizationGroup = Group{
	Name: "authorization.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: authorizationv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: authorizationv1beta1.AddToScheme, OnDemand: true},
	},
	Priority:    17600,
	Conversions: conversion.Authorization(),
	Kinds: []Kind{
		{
			Resource: "subjectaccessreviews",
			Object:   &authorizationv1.SubjectAccessReview{},
			Answer:   reviewAccess,
		},
		{
			Resource: "selfsubjectaccessreviews",
			Object:   &authorizationv1.SelfSubjectAccessReview{},
			Answer:   reviewSelfAccess,
		},
		{
			Resource:   "localsubjectaccessreviews",
			Namespaced: true,
			Object:     &authorizationv1.LocalSubjectAccessReview{},
			Answer:     reviewLocalAccess,
		},
		{
			Resource: "selfsubjectrulesreviews",
			Object:   &authorizationv1.SelfSubjectRulesReview{},
			Answer:   reviewSelfRules,
		},
	},
}
