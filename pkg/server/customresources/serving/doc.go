// Package serving makes servers of a process share the handlers of custom resources. The library
// apiextensions-apiserver compiles much at the first request for a custom resource: the structure of each schema, the
// validation of objects, CEL expressions, and types for apply. For a definition of 1.4 MB, that takes more than 100
// milliseconds. In a test process, many servers have the same definitions, one server after the other.
//
// A shared handler is a handler of the library that has one definition, and belongs to no server. A [Server] passes a
// request to the shared handler with the server in the request's context. Wherever the handler needs the server, it
// takes the server from the context: for admission, authorization and stores.
//
// A definition with a conversion webhook isn't shared, because the library's converter has no context. Don't use the
// package for kinds of a registry.Table: servers of a process share these by design.
package serving
