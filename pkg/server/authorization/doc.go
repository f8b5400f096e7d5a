// Package authorization decides whether a user may do what is asked, by kube-apiserver's own flags: a list of
// modes, or an AuthorizationConfiguration. The first authorizer with an opinion decides; members of
// system:masters may do everything, whatever the modes.
//
// [Options] are the flags; [Options.Build] makes the authorizer, which is also what resolves the rules of
// SelfSubjectRulesReviews. Who the user is was package authentication's business. What depends on an
// object's content is for admission: no authorizer sees it.
package authorization
