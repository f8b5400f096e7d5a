// Package sampleapiserver tests that Kubernetes' own example of an aggregated API server, k8s.io/sample-apiserver, works
// behind miniapi. The tests are a module of their own, which is never published, so that neither users nor other tests get
// the example's dependencies.
package sampleapiserver
