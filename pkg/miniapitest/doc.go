// Package miniapitest gives a Go test its own API server. The server starts in milliseconds and stops when the test
// ends.
//
//	srv := miniapitest.Start(t)
//	client := srv.Client()
//
// Start takes options: custom resource definitions, manifests, webhooks, users, admission plugins, legacy API groups, a
// data folder. Without a testing.TB, as in Ginkgo's BeforeSuite, call New and Stop.
//
// The servers of a test run in a child process, a program named miniapi, which ends with the test process. The
// environment variable MINIAPI names the program. Without the variable, the fixture uses a program of its own version
// on the PATH, or builds the program once, in the user's cache folder. Package inprocess runs servers in the test's
// process instead.
//
// Use the package only in tests. To run a server for people, run "miniapi serve" or import package server.
package miniapitest
