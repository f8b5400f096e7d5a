// Package warnings is what the API says about objects that it accepts and yet advises
// against: deprecated fields and annotations, and values that don't do what they seem
// to (KEP-1693). The texts are kube-apiserver's, but for those about webhooks.
//
// The package has the warnings about pods, claims and labels, which kinds of several groups share,
// and the list that warnings are gathered in. The warnings of one kind are in the kind's file, and
// its row names them. They expect objects that passed defaulting and validation. What an API version's own
// age deserves, such as that of v1 Endpoints, k8s.io/apiserver says by itself.
package warnings
