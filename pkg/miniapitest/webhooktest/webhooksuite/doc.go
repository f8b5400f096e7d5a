// Package webhooksuite is a suite of cases that check admission webhooks. It sends AdmissionReviews as an API server sends
// them. It also sends wrong reviews, large reviews, and many reviews at the same time. It checks webhook configurations
// for settings that harm a cluster.
//
// A [Suite] has the webhooks, the requests for them and, if available, a judge of patched objects. Package inputs makes
// the requests by an API server. Package webhooktest, one folder above, runs the suite in a Go test. "miniapi
// conformance webhook" runs it for a webhook at a URL or in a cluster.
//
// Don't use the suite to test the decisions of a webhook: a webhook may deny every request.
package webhooksuite
