// Package garbage is the controller garbage-collector-controller: it deletes objects whose owners are gone, and
// carries out the propagation policies of deletions.
//
// The rules are described at https://kubernetes.io/docs/concepts/architecture/garbage-collection/. For cases
// that this page doesn't describe, the rules are the same as in kube-controller-manager.
//
// [New] makes a collector. A collector keeps the owners and dependents of objects as a graph in memory. The
// graph comes from the events of an objects.Source. Before each deletion, the collector reads the object and
// its owners from the server, because the graph may be out of date. It doesn't read owners that it has recently
// found absent.
package garbage
