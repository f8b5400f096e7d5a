// Package sampleapiserver tests that API servers of others work behind miniapi: Kubernetes' own example of an aggregated API
// server, k8s.io/sample-apiserver, and the API of metrics-server, with its clients. The tests are a module of their own,
// which is never published, so that neither users nor other tests get their dependencies.
package sampleapiserver
