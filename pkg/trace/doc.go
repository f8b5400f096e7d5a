// Package trace records what happens to a request in admission, and explains it: which plugins, policies and webhooks
// considered the request, in which order and round, why each of them matched or was ruled out, what each of them
// changed, and how long it took. A [Recorder] keeps the last requests, within limits of number and size.
//
// The package has the data, its memory and its words. It imports the standard library alone, and knows no server:
// pkg/admission and pkg/server fill in what they see. It isn't for audit, which says what clients did and has formats
// and backends of its own, nor for metrics.
package trace
