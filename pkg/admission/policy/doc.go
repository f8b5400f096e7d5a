// Package policy has the plugins ValidatingAdmissionPolicy and MutatingAdmissionPolicy (KEP-3488, KEP-3962). They
// are k8s.io/apiserver's plugins, with another source of policies. k8s.io/apiserver's source looks for changes once
// a second. The source of this package computes the active policies in the handlers of the informers. So a policy
// is in force as soon as the handlers have been called with it.
//
// k8s.io/apiserver's plugins do everything else: matching, evaluation, audit annotations and static manifests.
//
// Use the package in a chain whose barrier makes writes wait for the handlers of the informers. Other chains can use
// k8s.io/apiserver's own plugins.
package policy
