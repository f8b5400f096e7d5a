// Package recorder records what happens to requests in admission. A [Recorder] keeps the records of the last requests,
// within limits of number and size. pkg/admission and pkg/server fill in the records, whose types are in package trace
// of the fixture.
//
// Don't use the package for an audit log or for metrics: k8s.io/apiserver has an audit log, with formats and
// backends of its own.
package recorder
