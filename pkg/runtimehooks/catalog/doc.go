// Package catalog lists hooks, with their versions and their types of request and response.
//
// A hook is a Go function of the type func(*Request, *Response). The function is never called. Its name is the name
// of the hook, and its parameters are the types of the hook's request and response. A package that defines hooks
// registers them under a group version:
//
//	func AddToCatalog(c *catalog.Catalog) error {
//		return c.Register(GroupVersion,
//			catalog.Define(BeforeBackup, catalog.Metadata{Summary: "a backup is about to start"}))
//	}
//
// A hook may have several versions. A caller uses one version. The catalog converts the caller's request to the
// version that an extension implements, and converts the response back. A conversion belongs to one hook: the same
// Go types may be converted differently for another hook.
//
// Don't use the package for the kinds of an API server, which a runtime.Scheme converts. The rules for versions are
// from the Cluster API proposal "Runtime SDK". Check verifies them.
package catalog
