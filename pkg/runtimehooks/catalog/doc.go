// Package catalog knows hooks: which there are, in which versions, with which types of request and response.
//
// A hook is a Go function of the type func(*Request, *Response). The function is never called: it ties the two types
// together, and its name is the name of the hook. A package that defines hooks registers them under a group version:
//
//	func AddToCatalog(c *catalog.Catalog) error {
//		return c.Register(GroupVersion,
//			catalog.Define(BeforeBackup, catalog.Metadata{Summary: "a backup is about to start"}))
//	}
//
// A hook may have several versions. A caller works with one of them, and the catalog converts the request to the version
// that an extension implements, and the response back. Types convert within one group and hook only: the same two Go
// types may convert in another way for another hook.
//
// Don't use the package for the kinds of an API server: these convert in a runtime.Scheme. The rules of versions are
// those of the Cluster API proposal "Runtime SDK", and Check verifies them.
package catalog
