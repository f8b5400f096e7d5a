// Package replay sends recorded AdmissionReviews to a webhook, and compares the responses with the recorded ones. A test
// with [Handler] needs no server:
//
//	func TestWebhook(t *testing.T) {
//		replay.Handler(t, "testdata/reviews", myHandler)
//	}
//
// Package reviews has the recordings, and says where they come from. "miniapi replay" does the same for a webhook at a
// URL.
package replay
