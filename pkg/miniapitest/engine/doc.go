// Package engine has the interface between the fixture (package miniapitest) and an engine, which runs the fixture's
// servers. A [Description] has the options of a server as data, so an engine may run the server in another process. The
// fixture keeps the parts that need the test's process: the handlers of webhooks, the functions that get audit events
// and log lines, users, kubeconfigs, and the objects to apply.
//
// Don't use the package in tests: call package miniapitest.
package engine
