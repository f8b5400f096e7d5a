// Package conformance judges the code under test by the protocol that it implements, in one call:
//
//	func TestWebhook(t *testing.T) {
//		conformance.Webhook(t, handler, conformance.Configuration("config/webhook/manifests.yaml"))
//	}
//
// Each case is a subtest, named by its identifier. docs/conformance.md lists them. "miniapi conformance webhook" has the
// same cases for a webhook that runs.
//
// The cases know no policy: test what a webhook decides with package miniapitest.
package conformance
