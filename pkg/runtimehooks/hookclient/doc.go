// Package hookclient calls the hooks of extensions: one handler by its name, or all handlers of a hook for an object.
//
// A caller uses one version of a hook. The client gets the handlers from a registry, and selects the handlers for
// the object's namespace. It converts the request to the version that a handler implements, and converts the
// response back. It applies the handler's timeout and failure policy. Handlers are called one after the other, in
// the order of the names of their ExtensionConfigs and then of their own names. The first handler that fails ends
// the call.
//
// An answer with the status Failure is an error under every failure policy. The policy Ignore turns only errors of
// the call itself (CallError) into a success.
//
// The package doesn't look for extensions: package extensionconfig does, and fills the registry.
package hookclient
