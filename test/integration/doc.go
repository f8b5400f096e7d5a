// Package integration is the specification of the server in the form of tests. A file has one promise, with its own
// servers and HTTPS webhooks. docs/admission.md lists the sentence of the specification that each test proves.
//
// The package can't be imported. Tests of a single part are beside that part.
package integration
