// Package conformance is the frame of suites that judge a server or a webhook from outside: a case is a promise with an
// identifier, the sentence of its source, and a function that tries it; a run tries cases in parallel and returns a
// result for each.
//
// The frame knows neither API servers nor webhooks. The suite of API servers is in the package apiserver, reports of
// results are in the package report, and a webhook that records its calls is in the package listener.
//
// Don't use the frame for unit tests: a case tries a running process that somebody else may use, names its reason in
// words for a stranger, and removes all that it made even if the run is interrupted.
package conformance
