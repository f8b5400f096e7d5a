// Package extension builds the HTTP server of an extension from typed functions.
//
//	c := catalog.New()
//	if err := clusterapi.AddToCatalog(c); err != nil { … }
//	e, err := extension.New(extension.Options{Catalog: c},
//		extension.Of(clusterapi.BeforeClusterCreate, "quota", checkQuota, extension.Timeout(5*time.Second)))
//	…
//	err = extension.Serve(ctx, listener, e, extension.TLS{CertFile: "tls.crt", KeyFile: "tls.key"})
//
// The compiler checks that a function has the types of the hook's request and response. The extension answers
// Discovery with all its handlers. It decodes requests and encodes responses. If a function panics, the extension
// answers with an error. An extension is an http.Handler, which a test can serve by net/http/httptest.
//
// Of the packages below runtimehooks, this package imports only the catalog and the types, so that an extension links
// neither an API server nor a client.
package extension
