// Package reload lets configuration files count without a restart, as kube-apiserver does for those of
// --authentication-config (KEP-3331) and --authorization-config (KEP-3221).
//
// [File] follows a file and has what it holds applied; what is wrong leaves what was. [Current] is what was made
// of it: it is replaced while it is in use, and ends when its last user is done. [Dial] makes connections that end
// with it. Certificates and keys are not for this package: the library follows them itself.
package reload
