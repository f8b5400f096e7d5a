// Package policy makes the plugins ValidatingAdmissionPolicy and MutatingAdmissionPolicy of k8s.io/apiserver (KEP-3488,
// KEP-3962) with its own source of policies. The library's source looks for changes once a second. This one computes
// the active policies in the informers' handlers: a write that waits for the handlers is answered when the policy is in
// force.
//
// Matching, evaluation, audit annotations and static manifests are the library's.
//
// Use the package in a chain with a barrier that waits for those handlers. Other chains can use the library's own
// plugins.
package policy
