// Package namespace is the controller namespace-controller: it deletes the content of namespaces that are being
// deleted, pods first, and then removes their finalizer.
//
// After the end of a namespace, the controller deletes objects that requests have stored in it too late, if
// Config.Count is set.
//
// [New] starts the controller. The conditions of a namespace show why its deletion isn't complete. The texts of
// the conditions are the same as in kube-controller-manager.
package namespace
