// Package integration is the specification of the server, as tests: one file a promise,
// each with servers and HTTPS webhooks of its own. docs/admission.md says which sentence
// of which document a test holds the server to.
//
// There is nothing to import here. What a single part does by itself is tested beside it.
package integration
