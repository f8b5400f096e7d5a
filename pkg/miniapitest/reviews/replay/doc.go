// Package replay sends recorded AdmissionReviews to a webhook, and compares the responses with the recorded ones. A
// test with [Handler] needs no server:
//
//	func TestWebhook(t *testing.T) {
//		replay.Handler(t, "testdata/reviews", myHandler)
//	}
//
// If the test defines a boolean flag -update, "go test -update" writes the new responses into the files; see [Update].
//
// Package reviews has the format of the recordings, and says how to make them. "miniapi replay" replays recordings for
// a webhook at a URL.
package replay
