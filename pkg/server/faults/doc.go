// Package faults injects faults into the answers of a server and into its calls of admission webhooks: latency, errors,
// timeouts, broken connections, watches that end, stale lists. With faults, authors of controllers and webhooks test
// what their programs do when a cluster misbehaves.
//
// A [Fault] says which requests or calls it is for, and what happens to them. An [Injector] has the faults of a server.
// The faults come from flags, from a file that is read again when it changes, and from requests to [Path]. Only the
// seed and the number of a request decide whether a fault is injected, so the same sequence of requests meets the same
// faults in another run. The requests of the server itself and of its controllers meet no faults.
//
// Don't use the package to limit the load of a server: k8s.io/apiserver limits the number of requests in flight.
package faults
