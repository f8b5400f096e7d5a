// Package integration has the tests of the whole server, in the form of a specification. Each file is about one
// promise. Its tests start their own servers and HTTPS webhooks. docs/admission.md maps the sentences of the admission
// specification to the tests.
//
// The package can't be imported. A test of a single package is beside the package.
package integration
