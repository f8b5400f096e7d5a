// Package trace records what happens to a request in admission, and explains it. The record has the calls of
// plugins in their order and round, and the webhooks and policies of each call. For each webhook and policy, it has
// the reason why it matched or was ruled out, and the change that it made. The record also has the time that each part
// took. A [Recorder] keeps the last requests, within limits of number and size.
//
// The package has the types of a record, the Recorder, and the text that explains a record. It imports only the standard
// library and a library for JSON patches. pkg/admission and pkg/server fill in the records.
//
// Don't use the package for an audit log or for metrics: k8s.io/apiserver has an audit log, with formats and
// backends of its own.
package trace
