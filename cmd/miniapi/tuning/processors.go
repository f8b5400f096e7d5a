package tuning

import (
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

const (
	// patience is the duration after which a request counts as two requests. The process then uses all processors,
	// because a long request, such as the deletion of a collection, may do its work in parallel.
	patience = 20 * time.Millisecond
	// lull is the time without simultaneous requests after which the process uses one processor.
	lull = 50 * time.Millisecond
	// fewWatches is the largest number of open watches with which the process uses one processor. With more
	// watches, the process uses all processors, because each event makes more work.
	fewWatches = 8
)

// processors limits the process to one processor (by GOMAXPROCS) while there is at most one request at a time and there
// are few watches. A request passes through some thirty goroutines, one after the other. For each of them, Go would
// wake an idle processor that finds nothing to do, and waking takes a fifth of the time of a small request.
type processors struct {
	one, all func() // set GOMAXPROCS to one, or to the number of processors

	requests, watches atomic.Int32 // requests and watches in progress
	crowded           atomic.Bool  // whether there were simultaneous requests since the last call of look
	alone             atomic.Bool  // whether the process uses one processor
}

// newProcessors returns nil if the process may use only one processor, or if the environment sets GOMAXPROCS. The
// methods regulate and handler accept a nil receiver, and then change nothing.
func newProcessors(environ func(string) string) *processors {
	if environ("GOMAXPROCS") != "" || runtime.GOMAXPROCS(0) == 1 {
		return nil
	}
	return &processors{one: func() { runtime.GOMAXPROCS(1) }, all: runtime.SetDefaultGOMAXPROCS}
}

// regulate starts to adapt the number of processors to the load. Before the call, the process uses all processors.
func (p *processors) regulate() {
	if p != nil {
		time.AfterFunc(lull, p.look)
	}
}

// look limits the process to one processor. If there were simultaneous requests, or if there are many watches, it sets
// no limit, and runs again after the time lull. After look has set the limit, only crowd makes look run again.
func (p *processors) look() {
	if p.crowded.Swap(false) || p.requests.Load() > 1 || p.watches.Load() > fewWatches {
		time.AfterFunc(lull, p.look)
		return
	}
	p.one()
	p.alone.Store(true)
	if p.crowded.Load() { // a request may have come after the check above
		p.crowd()
	}
}

// crowd lets the process use all processors.
func (p *processors) crowd() {
	if !p.crowded.Load() {
		p.crowded.Store(true)
	}
	if p.alone.CompareAndSwap(true, false) {
		go func() { // setting GOMAXPROCS may wait for the garbage collector, and the request must not wait
			p.all()
			time.AfterFunc(lull, p.look)
		}()
	}
}

// handler returns a handler that counts the requests for next. It doesn't count the server's own requests.
func (p *processors) handler(next http.Handler) http.Handler {
	if p == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if client, ok := request.UserFrom(req.Context()); ok && client.GetName() == user.APIServerUser {
			next.ServeHTTP(w, req)
			return
		}
		if info, ok := request.RequestInfoFrom(req.Context()); ok && info.Verb == "watch" {
			p.began(&p.watches, fewWatches)
			defer p.watches.Add(-1)
		} else {
			p.began(&p.requests, 1)
			defer p.requests.Add(-1)
			long := time.AfterFunc(patience, func() { p.began(&p.requests, 1) }) // a long request counts as two
			defer func() {
				if !long.Stop() {
					p.requests.Add(-1)
				}
			}()
		}
		next.ServeHTTP(w, req)
	})
}

func (p *processors) began(serving *atomic.Int32, few int32) {
	if serving.Add(1) > few {
		p.crowd()
	}
}
