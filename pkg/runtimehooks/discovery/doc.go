// Package discovery keeps a registry of handlers in step with the ExtensionConfigs of an API server: it asks each extension
// for its handlers, writes the answer into the status of the ExtensionConfig, and registers it.
//
// An ExtensionConfig is discovered when it appears, when its spec or its annotations change, when the Secret of its
// caBundle does, and again after a period. After an error, discovery is tried again, with exponential backoff. The
// handlers of the last answer that was valid stay registered meanwhile. The registry becomes ready when all
// ExtensionConfigs that there are at the start have been discovered, and not before: until then, no hook is called.
//
// The controller works against any API server that has the definition of ExtensionConfig. Run one for an API server: two
// would write the same statuses. Package client discovers one extension without an API server.
package discovery
