// Package faults injects faults into the answers of a server and into its calls of admission webhooks: latency, errors,
// timeouts, broken connections, watches that end, stale lists. With faults, authors of controllers and webhooks test
// how their programs handle the failures of a cluster.
//
// Some fields of a [Fault] select requests or calls, and its other fields change the selected requests or calls. Besides
// its latency, a fault has at most one effect: each effect is a row of the table "traits" in effects.go. An [Injector]
// has the faults of a server. The faults come from flags, from a file that is read again when it changes, and from
// requests to [Path]. A random choice depends only on the seed, the name of the fault, and the number of the request. So
// the same sequence of requests meets the same faults in another run. The requests of the server itself and of its
// controllers meet no faults.
//
// Don't use the package to limit the load of a server: k8s.io/apiserver limits the number of requests in flight.
package faults
