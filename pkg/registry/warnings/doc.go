// Package warnings is what the API says about objects that it accepts and yet advises
// against: deprecated fields and annotations, and values that don't do what they seem
// to (KEP-1693). The texts are kube-apiserver's, but for those about webhooks.
//
// Each function fits the Warnings hook of a row of the registry: old is nil on create.
// They expect objects that passed defaulting and validation. What an API version's own
// age deserves, such as that of v1 Endpoints, k8s.io/apiserver says by itself.
package warnings
