// Package conformance runs suites of cases that check a running server or webhook. A case is a promise with an
// identifier, its source, and a function that checks it. A run executes cases in parallel, and returns a result for
// each case.
//
// The suite of API servers is in package apiserver, reports of results are in package report, and package webhookserver
// serves the webhooks of a suite. The suites of webhooks and of runtime extensions are in modules without an API server:
// WebhookCases and ExtensionCases return their checks as cases.
//
// Don't use the package for unit tests. A case checks a running process that may have other users. So a case reports in
// full sentences what is wrong, and removes everything that it has created, even if the run is interrupted.
package conformance
