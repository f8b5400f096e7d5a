// Package authn determines the user of a request. The flags and the order are kube-apiserver's: front
// proxy headers, client certificates, then bearer tokens (static file, service accounts, bootstrap tokens, JWTs of
// other issuers, webhook), and at last anonymous requests. [Options] are the flags; [Options.ApplyTo] turns them
// into the authenticator of a generic API server's configuration. Package authz decides whether the user
// may make the request.
package authn
