package admissionwebhook

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// callTimes measures the parts of a call. It is used by several goroutines, because net/http may open a connection
// in the background and then use another one.
type callTimes struct {
	began time.Time

	mu     sync.Mutex
	reused bool
	// remote is the network address of the connection.
	remote net.Addr
	// asked is the moment at which net/http begins to look for a connection, to reuse it or to open it. The TLS
	// handshake lasts from shaking to shook.
	asked, shaking, shook time.Time
	got, wrote, answered  time.Time
}

func (t *callTimes) begin() { t.began = time.Now() }

func (t *callTimes) since() time.Duration { return time.Since(t.began) }

// mark sets a moment to the present time, unless it is set already.
func (t *callTimes) mark(moment *time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if moment.IsZero() {
		*moment = time.Now()
	}
}

// within returns a context that makes net/http report the moments of its request. It leaves out the hooks of package
// net for DNS and TCP: client-go also has hooks for DNS and TCP, and to combine two hooks costs more than all other
// hooks together.
func (t *callTimes) within(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:              func(string) { t.mark(&t.asked) },
		TLSHandshakeStart:    func() { t.mark(&t.shaking) },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { t.mark(&t.shook) },
		WroteRequest:         func(httptrace.WroteRequestInfo) { t.mark(&t.wrote) },
		GotFirstResponseByte: func() { t.mark(&t.answered) },
		GotConn: func(info httptrace.GotConnInfo) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.reused, t.remote, t.got = info.Reused, info.Conn.RemoteAddr(), time.Now()
		},
	})
}

// end returns the times of the call, and the network address of its connection, or "" without a connection. It is called
// when the response has been decoded, or when the call has failed.
func (t *callTimes) end() (times trace.Times, remote string) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting := t.wrote
	if waiting.After(t.answered) { // an answer can arrive before net/http reports that the request is written
		waiting = t.got
	}
	times = trace.Times{Reused: t.reused, Wait: between(waiting, cmp.Or(t.answered, now)), Decode: between(t.answered, now)}
	if !t.reused {
		connected := t.shaking
		if connected.IsZero() { // the webhook can't be reached
			connected = now
		}
		times.Connect, times.TLS = between(t.asked, connected), between(t.shaking, t.shook)
	}
	if t.remote != nil {
		remote = t.remote.String()
	}
	return times, remote
}

// between returns the time between two moments, or 0 if one of them didn't happen.
func between(from, to time.Time) trace.Duration {
	if from.IsZero() || to.Before(from) {
		return 0
	}
	return trace.Duration(to.Sub(from))
}
