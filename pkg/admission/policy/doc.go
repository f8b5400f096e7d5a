// Package policy makes the ValidatingAdmissionPolicy and MutatingAdmissionPolicy plugins of
// k8s.io/apiserver (KEP-3488, KEP-3962) with a policy source of its own: the library's looks for
// changes once a second, this one computes what is active in the informers' handlers, so that who
// waits for the handlers knows that the next request is judged by the policy.
//
// Everything else (matching, evaluation, audit annotations, static manifests) is the library's.
//
// It is for chains with a barrier that waits for those handlers; elsewhere the library's own plugins do
// as well.
package policy
