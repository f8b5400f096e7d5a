package main

import (
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

const (
	// patience is how long a request may take until it has work for all processors.
	patience = 20 * time.Millisecond
	// lull is how long requests must have come one at a time until one processor serves them.
	lull = 50 * time.Millisecond
	// fewWatches are as many as one processor serves: what one event makes to do grows with them.
	fewWatches = 8
)

// processors leaves the process one processor (GOMAXPROCS) while requests come one at a time. A
// request passes through some thirty goroutines, one after the other; for each, Go wakes a
// processor that is idle, which finds nothing left to do. That is a fifth of a small request.
type processors struct {
	one, all func() // set GOMAXPROCS

	requests, watches atomic.Int32 // being served
	crowded           atomic.Bool  // there was more than one at a time since the last look
	alone             atomic.Bool  // one processor is left
}

// newProcessors is nil if there is nothing to choose from: the machine has one processor, or the
// environment (GOMAXPROCS) says how many to take.
func newProcessors(environ func(string) string) *processors {
	if environ("GOMAXPROCS") != "" || runtime.GOMAXPROCS(0) == 1 {
		return nil
	}
	return &processors{one: func() { runtime.GOMAXPROCS(1) }, all: runtime.SetDefaultGOMAXPROCS}
}

// regulate is for when the server is ready: a start has work for all processors.
func (p *processors) regulate() {
	if p != nil {
		time.AfterFunc(lull, p.look)
	}
}

// look takes all processors but one away, unless there is work for them; then it looks again.
// Nothing looks while there is one: the next crowd begins anew.
func (p *processors) look() {
	if p.crowded.Swap(false) || p.requests.Load() > 1 || p.watches.Load() > fewWatches {
		time.AfterFunc(lull, p.look)
		return
	}
	p.one()
	p.alone.Store(true)
	if p.crowded.Load() { // since it was asked
		p.crowd()
	}
}

// crowd gives all processors back.
func (p *processors) crowd() {
	if !p.crowded.Load() {
		p.crowded.Store(true)
	}
	if p.alone.CompareAndSwap(true, false) {
		go func() { // the collector may have to finish first, and the request need not wait
			p.all()
			time.AfterFunc(lull, p.look)
		}()
	}
}

// handler counts the requests that next serves, but for the server's own.
func (p *processors) handler(next http.Handler) http.Handler {
	if p == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if who, ok := request.UserFrom(req.Context()); ok && who.GetName() == user.APIServerUser {
			next.ServeHTTP(w, req) // the server's own
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
