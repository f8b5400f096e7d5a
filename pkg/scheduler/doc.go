// Package scheduler assigns pods to nodes, as kube-scheduler does with its default profile. It works on the pods whose
// schedulerName is [Name], and leaves the pods of other schedulers alone.
//
// [New] starts the scheduler. A scheduling cycle decides about one pod, on the scheduler's own record of the nodes and
// of the pods on them. The record counts a pod as soon as its node is chosen, so the next cycle doesn't wait for the
// requests of the last one.
//
// The plugins have the names, weights and messages of kube-scheduler's plugins. Among the nodes with the highest score,
// the first by name is chosen, so that the same pods get the same nodes in each run; kube-scheduler chooses one at
// random. As in kube-scheduler, a cycle in a cluster of more than 100 nodes asks for some of them alone, and the next cycle
// for those that follow.
package scheduler
