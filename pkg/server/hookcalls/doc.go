// Package hookcalls adds the runtime hooks of pkg/runtimehooks to a server: the server serves ExtensionConfigs,
// discovers the extensions that they name, and calls hooks for clients.
//
// ExtensionConfig is a custom resource, and the server applies its definition at the start. So a server without
// --runtime-hooks has no kind, route or goroutine for hooks. The server converts ExtensionConfigs between their two
// versions itself: it is the conversion webhook of the definition, and calls itself without a connection. The server
// connects to extensions in the same way as to admission webhooks.
//
// [New] is the constructor. Don't use the package for hooks with another API server: pkg/runtimehooks/extensionconfig and
// pkg/runtimehooks/hookclient need only client-go.
package hookcalls
