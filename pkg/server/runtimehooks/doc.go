// Package runtimehooks gives a server the hooks of pkg/runtimehooks: it serves ExtensionConfigs, discovers their
// extensions, and calls hooks for clients that ask.
//
// ExtensionConfig is a custom resource, whose definition the server brings. So a server without --runtime-hooks has
// nothing of it: no kind in the table, no route, no goroutine. The server itself converts between the two versions, as a
// webhook that the loopback reaches. Extensions are reached as webhooks of admission are.
//
// [New] is the way in. Don't use the package for hooks against another API server: pkg/runtimehooks/discovery and client
// do that by client-go alone.
package runtimehooks
