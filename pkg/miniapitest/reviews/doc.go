// Package reviews keeps the requests to admission webhooks, with the responses, as golden files. Package replay sends
// them to a webhook again, without a server, and compares the responses.
//
// Recordings come from (*miniapitest.Server).Record in a test, from "miniapi record" for a running server, and from
// [Recorder] for any handler. "miniapi replay" replays them against a webhook at a URL. An [Exchange] in a file is
// normalised: what differs from run to run has the same value in every recording.
//
// Don't use the package to find out why a webhook wasn't called: nothing is recorded then.
package reviews
