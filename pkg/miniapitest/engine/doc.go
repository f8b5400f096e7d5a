// Package engine is the contract between the fixture (package miniapitest) and an engine, which runs the fixture's
// servers from descriptions. A [Description] is data, so an engine may run the server in another process. The fixture
// keeps what needs the test's process: the handlers of webhooks, the functions that take audit events and log lines,
// users, kubeconfigs, and the objects to apply.
//
// Tests don't use this package: they call package miniapitest.
package engine
