package recorder

import (
	"context"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// followed is the largest number of requests that are kept for callers of Follow if Limits.Requests is 0.
const followed = 256

// Follow calls the function each with every request that the recorder keeps from now on and that the filter selects, in
// the order of the ids. It calls caughtUp at the beginning, and whenever it has passed to each all requests that have
// ended so far. Follow returns when ctx ends, or when caughtUp or each returns an error, which Follow returns.
//
// While Follow runs, the recorder is on. Requests don't wait for callers of Follow. A slow caller may therefore miss
// requests: the recorder drops the oldest requests beyond its limits. missed is the number of requests that were
// dropped since the previous call of each. The request is nil if the filter selects none of the requests that follow
// the dropped ones.
func (r *Recorder) Follow(ctx context.Context, filter Filter, caughtUp func() error, each func(request *trace.Request, missed int64) error) error {
	r.mu.Lock()
	r.followers++
	r.on.Store(true)
	seen := r.last
	r.mu.Unlock()
	defer r.unfollow()
	told := false
	for ctx.Err() == nil {
		r.mu.Lock()
		next, last, missed := r.next(seen, filter)
		r.mu.Unlock()
		seen = last
		var err error
		switch {
		case next.request != nil:
			// The function whole takes time, so it runs without the lock, which requests need when they end. Only one
			// request is converted at a time, so that a slow caller doesn't use much memory.
			err, told = each(whole(next.request, next.passes), missed), false
		case missed > 0:
			err, told = each(nil, missed), false
		case !told:
			err, told = caughtUp(), true
		default:
			_ = r.published.Wait(ctx, func(last int64) bool { return last > seen }) // the loop ends with ctx
		}
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// next returns the first request that the filter selects among the kept requests with ids after seen, or the zero value. last is
// the id of the last request that next has compared with the filter, or seen if there was none. missed is the number of
// requests after seen that were dropped.
func (r *Recorder) next(seen int64, filter Filter) (next kept, last, missed int64) {
	if len(r.requests) == 0 {
		return kept{}, seen, 0
	}
	first := r.requests[0].request.ID // the ids have no gaps
	missed = max(0, first-seen-1)
	for last = seen + missed; last < r.last; {
		last++
		if next = r.requests[last-first]; filter.selects(next.request) {
			return next, last, missed
		}
	}
	return kept{}, last, missed
}

func (r *Recorder) unfollow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.followers--; r.followers == 0 && r.limits.Requests == 0 {
		r.on.Store(false)
		r.requests, r.bytes = nil, 0
	}
}
