// Package miniapitest gives a Go test its own API server. The server starts in milliseconds and stops when the test ends.
//
//	srv := miniapitest.Start(t)
//	client := srv.Client()
//
// Start takes options: custom resource definitions, manifests, webhooks, users, admission plugins, legacy API groups, a
// data folder. Where there is no testing.TB, as in Ginkgo's BeforeSuite, call New and Stop.
//
// The servers of a test process run in a miniapi process, which ends with the test process. The program is $MINIAPI, or is
// built once for each version of this package, in the user's cache folder. Package inprocess runs servers in the test's
// process instead.
//
// The package is for tests. For a server that people use, run "miniapi serve" or import package server.
package miniapitest
