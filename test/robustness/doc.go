//go:build unix

// Package robustness has tests that break servers, members of etcd, and the connections between them, while clients
// write, read and watch. Then the suite pkg/conformance/consistency checks what the clients have seen: no answered write
// is lost, objects are linearizable, and watches are complete, over all faults and restarts.
//
// "make robustness" runs the tests. A plain "go test" has no program to run, and skips them. A run prints its seed, which
// repeats the choices of a run, and what the run has covered.
//
// Clocks don't jump in these tests: a process has no clock of its own, because Go reads the clock without a system call,
// and a jump of the machine's clock would disturb all of its processes.
package robustness
