// Package admissionpolicy has the plugins ValidatingAdmissionPolicy and MutatingAdmissionPolicy (KEP-3488, KEP-3962). They
// are k8s.io/apiserver's plugins, with another source of policies. k8s.io/apiserver's source looks for changes once
// a second. The source of this package computes the active policies in the handlers of the informers. So a policy
// is in force as soon as the handlers have been called with it.
//
// k8s.io/apiserver's plugins do the matching, the evaluation, the audit annotations and the static manifests. This
// package compiles the policies, records their evaluations, checks the types of their expressions, and provides the
// schemas for apply configurations.
//
// Use the package in a chain whose barrier makes writes wait for the handlers of the informers. Other chains can use
// k8s.io/apiserver's own plugins.
package admissionpolicy
