// Package reviews stores requests to admission webhooks, with the responses, as golden files. Package replay sends the
// requests to a webhook again, without a server, and compares the responses.
//
// Recordings come from (*miniapitest.Server).Record in a test, from "miniapi record" for a running server, and from
// [Recorder] for any handler. "miniapi replay" replays them against a webhook at a URL. An [Exchange] in a file is
// normalised: values that differ from run to run, such as UIDs and times, are replaced by fixed ones.
//
// Don't use the package to find out why a webhook wasn't called, because only calls are recorded: use "miniapi trace
// why".
package reviews
