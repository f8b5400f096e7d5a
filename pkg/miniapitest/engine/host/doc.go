// Package host answers the control protocol (package control): it runs servers for a client in another process. The
// command "miniapi host" calls it. Don't use it in a test: package miniapitest runs servers for tests in Go.
package host
