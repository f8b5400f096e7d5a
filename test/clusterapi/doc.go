// Package miniapi has tests that miniapi's pkg/runtimehooks and Cluster API's own code work together.
//
// The package is a module of its own, with a go.work of its own, so that miniapi doesn't depend on Cluster API. The
// path of the module is below Cluster API's path, because the tests import an internal package of Cluster API. The
// module is never published.
package miniapi
