// Package trial has the requests, webhooks and checks that the cases about API servers consist of. A case has its own
// namespaces. It makes requests, and a finding quotes the last request. The case installs webhooks and policies that
// apply only to the requests of the case, and reads the calls of these webhooks.
//
// Requests are plain HTTP with JSON, so that a case gets each answer of the server unchanged. At its end, a case
// removes all objects that it has created.
//
// Don't use the package outside of the suite of API servers, because most methods end the case at an unexpected answer.
package trial
