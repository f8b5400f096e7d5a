// Package namespace is the controller namespace-controller: it deletes the content of namespaces that are being
// deleted, pods first, and then removes their finalizer.
//
// [New] starts the controller. The conditions of a namespace show what the deletion waits for. They have the
// same texts as in kube-controller-manager.
package namespace
