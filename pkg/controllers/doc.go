// Package controllers has the controllers without which the API itself would be incomplete. They delete the content
// of namespaces, the dependents of deleted owners, and pods that no kubelet deletes. They make the objects that every
// namespace has, fill Secrets with tokens, and answer certificate requests. They compute the status of quotas and of
// disruption budgets, and the rules of aggregated ClusterRoles.
//
// [New] makes the controllers of a server. The controllers make their requests through client-go. Each controller has
// the behaviour and the name of its counterpart in kube-controller-manager, and is in a package below this one. A
// [Component] is another program of a cluster that runs with the controllers, such as a scheduler.
package controllers
