// Package authentication finds out who sends a request, by kube-apiserver's own flags and in its order: front
// proxy headers, client certificates, then bearer tokens (static file, service accounts, bootstrap tokens,
// JWTs of other issuers, webhook), and anonymous at last.
//
// [Options] are the flags; [Options.ApplyTo] turns them into the authenticator of a generic API server's
// configuration. Whether the user may do what is asked is package authorization's business.
package authentication
