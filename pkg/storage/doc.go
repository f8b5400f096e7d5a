// Package storage runs the etcd that a server keeps its objects in, and joins it to
// k8s.io/apiserver's own store and watch cache.
//
// A [Member] is an etcd of one member inside the process: it listens on no port, is called by
// function calls, starts in a few milliseconds, and keeps its data either in a temporary folder
// that is gone with it or, with fsync, in a data folder. [Member.RESTOptionsGetter] puts the
// stores of an API server on it. Any number of members can live in one process.
//
// Don't use it for an etcd that other processes reach: a cluster of its own is reached through
// k8s.io/apiserver's EtcdOptions, and [CheckExternal] says beforehand whether it can be.
//
// What etcd keeps for the whole process, and members therefore share: its Prometheus metrics,
// the length of a write-ahead log's segments (set once, see segments), and k8s.io/apiserver's
// knowledge that its etcd answers progress requests (see supportProgress).
package storage
