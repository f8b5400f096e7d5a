// Package trial has what cases of the suite of API servers are written with: requests whose words a finding repeats,
// objects in namespaces of a case's own, webhooks and policies that see the requests of the case alone, and the calls
// that these webhooks got.
//
// Requests are plain HTTP with JSON, so a case sees what the server says, without a client's conversions. All that a
// case creates is removed when it ends.
//
// Don't use it outside of the suite of API servers: its methods end a case at the first surprise.
package trial
