// Package trace has the record of requests in admission, for the server that makes the records, for programs that
// print them, and for tests. A record has the calls of plugins in their order and round, and the webhooks and policies
// of each call. For each webhook and policy, it has the reason why it matched or was ruled out, and the change that it
// made. [Why] and [WriteTimeline] explain a record in words. docs/trace.md explains the fields and lists the reasons.
//
// In a test, the methods of miniapitest.Admission return the records. Don't use the package to record: the server does
// that, by its package pkg/recorder.
package trace
