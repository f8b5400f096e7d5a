// Package storage runs the etcd in which a server keeps its objects, and connects it to k8s.io/apiserver's own
// store and watch cache.
//
// A [Member] is an etcd of one member in the process. It listens on no port, is called by function calls, and
// starts in a few milliseconds. Its data is in a temporary folder, which Stop removes, or in a data folder, with
// fsync. [Member.RESTOptionsGetter] puts the stores of an API server on the member, and [Member.Keys] reads and
// writes keys without the stores. Any number of members can run in one process.
//
// Don't use a Member for an etcd that other processes reach. For an external cluster, use k8s.io/apiserver's
// EtcdOptions with the stores of [ExternalRESTOptionsGetter]. The package external checks beforehand whether the
// cluster answers.
//
// All members of a process share some state of etcd and k8s.io/apiserver: etcd's Prometheus metrics, the length of
// the segments of a write-ahead log (set once, by segments), and k8s.io/apiserver's record whether etcd supports
// progress requests (set by supportProgress).
package storage
