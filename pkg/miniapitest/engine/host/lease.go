package host

import (
	"net/http"
	"sync"
	"time"
)

// lease ends the host when no client has made a request for some time. A request in progress, such as one that follows
// events, renews it for as long as it lasts.
type lease struct {
	duration time.Duration // 0 for a lease that never ends
	mu       sync.Mutex
	active   int
	timer    *time.Timer
}

func newLease(duration time.Duration, end func()) *lease {
	l := &lease{duration: duration}
	if duration > 0 {
		l.timer = time.AfterFunc(duration, end)
	}
	return l
}

// counted returns a handler whose requests renew the lease.
func (l *lease) counted(next http.Handler) http.Handler {
	if l.timer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.count(1)
		defer l.count(-1)
		next.ServeHTTP(w, r)
	})
}

func (l *lease) count(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active += n; l.active == 0 {
		l.timer.Reset(l.duration)
		return
	}
	l.timer.Stop()
}
