// Package storage runs the etcd in which a server keeps its objects, and connects it to k8s.io/apiserver's own store
// and watch cache.
//
// A [Member] is an etcd of one member in the process. It listens on no port, is called by function calls, and starts in
// a few milliseconds. Its data is in a temporary folder, which Stop removes, or in a data folder, with fsync.
// [Member.RESTOptionsGetter] puts the stores of an API server on the member. Any number of members can run in one
// process.
//
// Don't use a Member for an etcd that other processes reach. k8s.io/apiserver's EtcdOptions connect to an external
// cluster, and [CheckExternal] tells beforehand whether that will succeed.
//
// All members of a process share some state of etcd and k8s.io/apiserver: etcd's Prometheus metrics, the length of the
// segments of a write-ahead log (set once, see segments), and the knowledge that etcd answers progress requests (see
// supportProgress).
//
// The package has 25 subjects. One of them, the place of
// temporary folders, needs a file for Linux and one for other systems.
package storage
