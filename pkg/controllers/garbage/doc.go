// Package garbage is the controller generic-garbage-collector: it deletes objects whose owners are gone, and makes the
// propagation policies of deletions true.
//
// The rules are those of https://kubernetes.io/docs/concepts/architecture/garbage-collection/, and for everything that
// the page leaves open, those of kube-controller-manager. [New] is the way in. The owners and dependents are a graph in
// memory, which a source of package objects keeps current; every decision is made by live objects.
package garbage
