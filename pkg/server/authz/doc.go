// Package authz decides whether a user may make a request. Its flags are kube-apiserver's: a list of modes, or
// an AuthorizationConfiguration. The first authorizer with an opinion decides; members of system:masters may do
// everything in every mode.
//
// [Options] are the flags; [Options.Build] makes the authorizer, which also lists the rules of a user for
// SelfSubjectRulesReviews. Package authn has determined the user of a request before authorization.
// Authorizers don't get the content of objects: admission makes the decisions that depend on the content.
package authz
