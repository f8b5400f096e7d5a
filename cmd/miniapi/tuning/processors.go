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
	// patience is the duration after which a request counts as two: a long request has work for all processors.
	patience = 20 * time.Millisecond
	// lull is the time for which requests must have come one at a time before the process is left one processor.
	lull = 50 * time.Millisecond
	// fewWatches is the greatest number of watches for one processor: the work of an event grows with the watches.
	fewWatches = 8
)

// processors leaves the process one processor (GOMAXPROCS) while requests come one at a time. A request passes through
// some thirty goroutines, one after the other, and Go wakes an idle processor for each of them, which finds nothing to do.
// Waking them takes a fifth of a small request.
type processors struct {
	one, all func() // set GOMAXPROCS

	requests, watches atomic.Int32 // being served
	crowded           atomic.Bool  // requests were served at the same time since the last look
	alone             atomic.Bool  // the process has one processor
}

// newProcessors returns nil if the machine has one processor, or GOMAXPROCS in the environment sets their number. All
// methods accept nil.
func newProcessors(environ func(string) string) *processors {
	if environ("GOMAXPROCS") != "" || runtime.GOMAXPROCS(0) == 1 {
		return nil
	}
	return &processors{one: func() { runtime.GOMAXPROCS(1) }, all: runtime.SetDefaultGOMAXPROCS}
}

// regulate is called when the server is ready: a start has work for all processors.
func (p *processors) regulate() {
	if p != nil {
		time.AfterFunc(lull, p.look)
	}
}

// look leaves the process one processor, or looks again later if several requests are served. After that, crowd starts the
// next look.
func (p *processors) look() {
	if p.crowded.Swap(false) || p.requests.Load() > 1 || p.watches.Load() > fewWatches {
		time.AfterFunc(lull, p.look)
		return
	}
	p.one()
	p.alone.Store(true)
	if p.crowded.Load() { // since the check above
		p.crowd()
	}
}

// crowd gives the process all processors.
func (p *processors) crowd() {
	if !p.crowded.Load() {
		p.crowded.Store(true)
	}
	if p.alone.CompareAndSwap(true, false) {
		go func() { // setting GOMAXPROCS may wait for the garbage collector, and the request need not
			p.all()
			time.AfterFunc(lull, p.look)
		}()
	}
}

// handler counts the requests that next serves, except the server's own.
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
			long := time.AfterFunc(patience, func() { p.began(&p.requests, 1) }) // counts twice
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
