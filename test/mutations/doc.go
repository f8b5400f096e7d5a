// Package mutations has the tests of the conformance suite for API servers. Each case of the suite must fail for a
// server that breaks the promise of the case. The tests put proxies in front of a good server, and each proxy breaks
// one promise.
//
// The package can't be imported. The suite itself is in pkg/conformance.
package mutations
