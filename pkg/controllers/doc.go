// Package controllers has the controllers that belong to every cluster's API machinery: those that delete the content of
// namespaces, what owners leave and what no kubelet ends, and those that make what every namespace has.
//
// [New] makes the controllers of a server, which client-go alone connects with it. Each is a package below this one, with
// the behaviour and the name of its counterpart in kube-controller-manager. The package has no controllers of workloads.
package controllers
