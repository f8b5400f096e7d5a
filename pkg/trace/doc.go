// Package trace records what happens to a request in admission, and explains it. The record has the plugins,
// policies and webhooks that considered the request, in their order and round. For each of them, it has the reason
// why it matched or was ruled out, the change that it made, and the time that it took. A [Recorder] keeps the last
// requests, within limits of number and size.
//
// The package has the types of a record, the Recorder, and the text that explains a record. It imports the standard
// library alone. pkg/admission and pkg/server fill in the records.
//
// Don't use the package for an audit log or for metrics: k8s.io/apiserver has an audit log, with formats and
// backends of its own.
package trace
