// Package faults injects faults into the answers of a server and into its calls of admission webhooks: latency, errors,
// timeouts, broken connections, watches that end, stale lists. With faults, authors of controllers and webhooks test
// what their programs do when a cluster misbehaves.
//
// A [Fault] says which requests or calls it is for, and what happens to them. An [Injector] has the faults of a server.
// They come from flags, from a file that is followed, and from requests to [Path], which change them while the server
// runs. Whether a fault is injected depends on the seed and on the number of the request alone, so a sequence of
// requests meets the same faults again in another run. The requests of the server
// itself and of its controllers meet no faults.
//
// Don't use the package for limits that a server should have: those of priority and fairness, or of requests in flight,
// are the library's.
package faults
