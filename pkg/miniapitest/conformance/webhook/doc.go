// Package webhook is a suite that judges admission webhooks by the protocol: it sends AdmissionReviews as an API server
// sends them, bad ones, large ones and many at once, and reads the configuration for what harms a cluster.
//
// A [Suite] has the webhooks, the requests that they are sent, and, if there is one, a judge of patched objects. Package
// chain makes requests by the admission chain of a server. The package conformance above runs the suite in a Go test, and
// "miniapi conformance webhook" runs it against a webhook at a URL or in a cluster.
//
// Don't use the suite to test what a webhook decides: it knows no policy. A webhook may deny each request that it is sent.
package webhook
