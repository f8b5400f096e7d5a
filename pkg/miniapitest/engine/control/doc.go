// Package control has the messages of the control protocol, by which programs in any language run servers of a miniapi
// process: the Go fixture, the clients for other languages, and scripts. docs/control.md explains the protocol, and
// openapi.json describes it.
//
// The protocol is HTTP with JSON. The process that answers is "miniapi host". Its first line on standard output is a
// [Hello], which has the address and the token that each request must have. The process stops its servers and ends when
// its standard input ends, or when its lease does.
//
// Don't use the package in a test in Go: package miniapitest has an API for tests.
package control

// Version is the version of the protocol, with which each path begins. A change that a client of this version notices
// makes another version.
const Version = "v1"

// Hello is the first line on the standard output of "miniapi host".
type Hello struct {
	// Protocol is the version of the protocol, such as v1.
	Protocol string `json:"protocol"`
	// Version is the version of miniapi.
	Version string `json:"version"`
	// Address is the URL to which requests are sent: http://127.0.0.1:PORT, or unix://PATH for a Unix socket.
	Address string `json:"address"`
	// Token is the bearer token that each request must have in its Authorization header.
	Token string `json:"token"`
}
