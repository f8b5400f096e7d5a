// Package reload makes changed configuration files effective without a restart, as kube-apiserver does for the files of
// --authentication-config (KEP-3331) and --authorization-config (KEP-3221). [File] applies the content of a file
// whenever it changes; wrong content leaves the old configuration in force. [Current] has a value that is made from the
// content. The value can be replaced while it is in use, and the old value ends after its last use. Certificates and
// keys don't need this package: k8s.io/apiserver reloads them itself.
package reload
