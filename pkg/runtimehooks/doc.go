// Package runtimehooks is about runtime hooks: HTTPS calls from a system to its extensions at certain moments, such
// as before the system creates a cluster. Cluster API's Runtime SDK defines the protocol. The package itself is
// empty. The packages below it have one subject each:
//
//   - catalog: the list of hooks, their versions, and their OpenAPI document
//   - api: the Go types of requests and responses (hooks), the hooks of Cluster API (clusterapi), and ExtensionConfig
//     (runtime)
//   - extension: the server of an extension, built from typed functions
//   - checker: checks of an extension
//   - hookclient and hookregistry: calls of hooks, and the handlers that can be called
//   - extensionconfig and definition: a controller of ExtensionConfigs, and their CustomResourceDefinition
//   - metrics: Prometheus metrics of callers and of extensions
//
// An author of an extension imports api, catalog and extension, which need neither client-go nor an API server. An
// author of a system that calls hooks imports the other packages too. docs/runtime-hooks.md has a tutorial, and
// lists the promises of the packages, with their tests.
package runtimehooks
