// Package webhooktest checks in one call that a handler follows the protocol of admission webhooks:
//
//	func TestWebhook(t *testing.T) {
//		webhooktest.Handler(t, handler, webhooktest.Configuration("config/webhook/manifests.yaml"))
//	}
//
// Each case is a subtest, whose name is the identifier of the case. docs/conformance-cases.md lists the cases. "miniapi
// conformance webhook" runs the same cases for a running webhook.
//
// The cases don't test the decisions of a webhook: use package miniapitest for that.
package webhooktest
