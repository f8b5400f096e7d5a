// Package server composes miniapi: storage, the registry's resources, custom resources, authentication, authorization,
// audit and the admission chain, behind the handler chain of k8s.io/apiserver. Its stages are types: Options are what
// flags set; Complete sets missing options, checks all of them, and returns CompletedOptions; Config starts the
// dependencies of the server, such as etcd; New builds the Server; and Run serves until its context ends. The package
// is a library: it registers no signal handler and never exits, and any number of servers can run in one process. Don't
// use it in tests: package miniapitest starts and stops a server for a test.
package server
