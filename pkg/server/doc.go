// Package server composes miniapi: storage, the registry's resources, custom resources, authentication, authorization,
// audit and the admission chain, behind the handler chain of k8s.io/apiserver. A server is built in stages, and each
// stage has a type. Options have the values of flags. Options.Complete sets missing options, checks all options, and
// returns CompletedOptions. CompletedOptions.Config starts the dependencies of the server, such as etcd. Config.New
// builds the Server. Server.Run serves until its context ends. The package is a library: it registers no signal handler
// and never exits, and any number of servers can run in one process. Don't use it in tests: package miniapitest starts
// and stops a server for a test.
//
// Options.Table has the kinds that the server serves: see package registry for a table of other kinds than the built-in
// ones. Options.Run takes all steps for a program that needs nothing between them.
package server
