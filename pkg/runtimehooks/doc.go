// Package runtimehooks has hooks that a system calls at moments of its own, as Cluster API's Runtime SDK does. The package
// itself is empty; those below it have a subject each:
//
//   - catalog: which hooks there are, in which versions, and their OpenAPI document
//   - api: the types on the wire (hooks), the hooks of Cluster API (clusterapi), and ExtensionConfig (runtime)
//   - extension: the server of an extension, built from typed functions
//   - checker: what an extension does wrong
//   - client and registry: calls, and the handlers that can be called
//   - discovery and definition: ExtensionConfigs of an API server, followed and defined
//   - metrics: of calls, and of an extension's answers
//
// An author of an extension imports api, catalog and extension, which need apimachinery and kube-openapi alone. An author
// of a system that calls hooks imports the others too. docs/runtime-hooks.md has a tutorial, and the promises with their
// tests.
package runtimehooks
