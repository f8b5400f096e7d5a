// Package controllers has the controllers without which the API itself would be incomplete. They delete the content
// of namespaces, the dependents of deleted owners, and pods that no kubelet deletes. They also make the objects
// that every namespace has.
//
// [New] makes the controllers of a server. The controllers make their requests through client-go. Each controller
// is a package below this one, with the behaviour and the name of its counterpart in kube-controller-manager. The
// package has no controllers of workloads, such as Deployments.
package controllers
