// Package client calls the hooks of extensions: one handler by its name, or all handlers of a hook for an object.
//
// A caller works with one version of a hook. The client finds the handlers in a registry, selects those for the object's
// namespace, converts the request to the version that a handler implements and the response back, and applies the
// handler's timeout and failure policy. Handlers are called one after the other, by the name of their ExtensionConfig,
// then by their own, and the first that fails ends the call.
//
// An answer with the status Failure is an error under every failure policy. The policy Ignore covers errors of the call
// itself (CallError), and makes a success of them.
//
// Don't use the package to find out which extensions there are: package discovery fills the registry.
package client
