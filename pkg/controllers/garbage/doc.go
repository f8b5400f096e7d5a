// Package garbage is the controller generic-garbage-collector: it deletes objects whose owners are gone, and
// carries out the propagation policies of deletions.
//
// The rules are those of https://kubernetes.io/docs/concepts/architecture/garbage-collection/. Where that page says
// nothing, they are kube-controller-manager's.
//
// [New] makes a collector. It keeps owners and dependents as a graph in memory, from the events of a source of
// package objects. Before each deletion, it reads the objects from the server, because the graph may be older.
package garbage
