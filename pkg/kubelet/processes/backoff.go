package processes

import "time"

// These are the kubelet's.
const (
	firstBackoff = 10 * time.Second
	maxBackoff   = 300 * time.Second
)

// backoff is the delay before a container starts again. The first restart comes at once. A container that has run for long
// begins anew.
type backoff struct {
	delay time.Duration
	last  time.Time // of the last start
}

// next returns the delay before the next start, from the time at which the container has ended.
func (b *backoff) next(ended time.Time) time.Duration {
	wait := b.delay
	if b.delay == 0 || ended.Sub(b.last) > 2*maxBackoff {
		wait, b.delay = 0, firstBackoff
	} else {
		b.delay = min(2*b.delay, maxBackoff)
	}
	b.last = ended.Add(wait)
	return wait
}
