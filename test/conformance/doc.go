// Package conformance tests the suite of API servers: each case must fail for a server that breaks the promise of the
// case. For that, proxies in front of a good server each break one promise.
//
// The package can't be imported. The suite itself is in pkg/conformance.
package conformance
