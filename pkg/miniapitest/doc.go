// Package miniapitest gives a Go test an API server of its own, in the test's own
// process: started in milliseconds, stopped and gone when the test ends.
//
//	srv := miniapitest.Start(t)
//	client := srv.Client()
//
// Start takes options: manifests and custom resources to begin with, webhooks, users,
// admission plugins, legacy API groups, a data folder. Tests that have no testing.TB,
// as in Ginkgo's BeforeSuite, call New and Stop.
//
// It is for tests. A server that people use is what "miniapi serve" or package
// server is for.
package miniapitest
