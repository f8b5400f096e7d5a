// Package namespace is the controller namespace-controller: it deletes the content of namespaces that are being
// deleted, pods first, and then removes their finalizer.
//
// [New] starts the controller. The conditions of a namespace say what its deletion waits for, in
// kube-controller-manager's words.
package namespace
