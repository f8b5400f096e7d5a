// Package extensionconfig registers the extensions of an API server. It reads the ExtensionConfigs, calls the hook
// Discovery of each extension, writes the answer into the status of the ExtensionConfig, and adds the handlers to a
// registry.
//
// Discovery is called when an ExtensionConfig appears, when its spec or its annotations change, when the Secret
// with its caBundle changes, and after a period. After an error, it is called again, with exponential backoff.
// Meanwhile, the handlers of the last valid answer stay registered. The registry becomes ready when each
// ExtensionConfig that exists at the start is discovered, is paused, is being deleted, or has been deleted. Until then,
// no hook can be called.
//
// The controller works with any API server that has the CustomResourceDefinition of ExtensionConfig. Run one
// controller for an API server: two controllers would write the same statuses. To discover a single extension
// without an API server, use package hookclient.
package extensionconfig
