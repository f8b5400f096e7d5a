// Package warnings has the warnings about objects that are valid but not recommended: deprecated fields and
// annotations, and values with surprising effects (KEP-1693). The texts are kube-apiserver's, except for the
// warnings about webhooks.
//
// The package has the List that collects warnings, and the warnings about pods, claims and labels, which kinds of
// several groups share. The warnings of one kind are in the kind's file. The objects must have passed defaulting
// and validation.
//
// Don't use the package for deprecated versions and kinds, such as v1 Endpoints: k8s.io/apiserver has warnings
// about them.
package warnings
