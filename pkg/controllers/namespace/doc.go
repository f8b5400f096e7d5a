// Package namespace is the controller namespace-controller: it deletes the content of namespaces that are being deleted,
// pods first, and then lets the namespaces go.
//
// [New] is the way in. The conditions of a namespace say what it waits for, in kube-controller-manager's words.
package namespace
