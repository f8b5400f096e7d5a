// Package tuning sets the Go runtime for a process that runs one API server and nothing else. Each setting is for the
// whole process, so a library must not import the package: a server in a test's process runs without these settings.
//
// Each setting improves figures of docs/performance.md:
//
// - the reserve (memory.go): creates by 32 clients, and the time of a start;
// - goroutines with large stacks (memory.go): creates by one client;
// - memory given back (idle.go): resident memory of an idle server;
// - the frequency of collections (collector.go): resident memory of a server with very many objects;
// - huge pages (hugepages.go): the time until very many pods run;
// - processors (processors.go): creates by one client, with and without webhooks.
//
// A setting that doesn't improve its figure by 5 per cent is deleted.
package tuning

import "net/http"

// Runtime is the tuned runtime of the process.
type Runtime struct {
	memory     *memory
	processors *processors
}

// Start allocates a memory reserve, so that Go collects garbage less often. It must be called before the server is
// built. If the environment sets GOGC, there is no reserve. If it sets GOMAXPROCS, that setting stays unchanged.
func Start(environ func(string) string) *Runtime {
	return &Runtime{memory: newMemory(environ), processors: newProcessors(environ)}
}

// CountRequests wraps the handler of the server. The number of requests in progress decides how many processors the
// process uses.
func (r *Runtime) CountRequests(next http.Handler) http.Handler { return r.processors.handler(next) }

// Ready must be called when the server is ready. From then on, an idle process gives memory back to the system, and
// the number of processors depends on the load.
func (r *Runtime) Ready() {
	r.memory.settle()
	r.processors.regulate()
}

// Stop frees the memory that the runtime holds. It must be called when the server has stopped.
func (r *Runtime) Stop() { r.memory.release() }
