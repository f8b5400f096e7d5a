// Package webhookcert has the names and the files of a webhook's certificate, which the authority of a server issues.
// [NamesOf] reads the names, and [New] makes the files. Don't use the package for the server's own certificates: see
// pkg/server/pki and pkg/server/keys.
package webhookcert
