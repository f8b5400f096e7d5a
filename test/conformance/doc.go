// Package conformance proves that the suite of API servers can fail: behind proxies that each break one promise of a
// good server, the case of that promise fails.
//
// The package can't be imported. The suite itself is in pkg/conformance.
package conformance
