// Package trial has the helpers by which the cases about API servers are written. A case makes requests, which findings
// quote; it has namespaces of its own; it installs webhooks and policies that see only the requests of the case, and
// reads the calls of these webhooks.
//
// Requests are plain HTTP with JSON, so that a case sees exactly what the server sends. All objects that a case creates
// are removed at its end.
//
// Don't use the package outside of the suite of API servers: at the first unexpected answer, its methods end the case.
package trial
