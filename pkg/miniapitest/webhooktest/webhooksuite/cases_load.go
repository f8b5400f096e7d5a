package webhooksuite

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/tree"
)

// These constants are the sizes, the numbers of calls and the times in the cases about load.
const (
	concurrentCalls = 32
	largeObject     = 1536 << 10 // the largest object that etcd stores by default
	latencyCalls    = 100
	latencyTime     = 3 * time.Second
	// typicalLatency is the limit for the recommendation that webhooks answer "typically in milliseconds".
	typicalLatency = 100 * time.Millisecond
	// besidePatience is the time for an answer while another client is slow. A webhook that serves clients one after
	// the other exceeds it.
	besidePatience = 3 * time.Second
	dripPieces     = 20
	dripPause      = 25 * time.Millisecond
)

// loadCases returns the cases about many requests, large requests, slow clients and connections.
func loadCases() []Case {
	return []Case{
		{
			ID: "load.concurrent", Level: LevelError, Source: availabilitySource, Cost: time.Second,
			Promise: "API servers call a webhook concurrently: each call gets its own answer.",
			Advice:  "Share no state between calls without a lock: no package variable with the request or the response, no unguarded map.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.perHook(ctx, nil, func(in *Input) *Finding { return s.concurrently(ctx, in) })
			},
		},
		{
			ID: "load.large", Level: LevelError, Source: "etcd, Request size limit", Cost: time.Second,
			Promise: "An object of 1.5 MB, the most that etcd stores, is answered as a small one.",
			Advice:  "Allow bodies of at least 8 MB: a review has object and oldObject.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.enlarged(ctx, "object")
			},
		},
		{
			ID: "load.largeUpdate", Level: LevelError, Source: "etcd, Request size limit", Cost: time.Second,
			Promise: "An update has object and oldObject: a review of 3 MB is answered as a small one.",
			Advice:  "Allow bodies of at least 8 MB: a review has object and oldObject.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.enlarged(ctx, "object", "oldObject")
			},
		},
		{
			ID: "load.slowClient", Level: LevelError, Source: availabilitySource, Cost: 600 * time.Millisecond,
			Promise: "A request that arrives in pieces, over a slow network, is answered.",
			Advice:  "Read the body to its end, or to Content-Length: one read may return a part of it.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.perHook(ctx, nil, func(in *Input) *Finding {
					r := in.review()
					body := &drip{ctx: ctx, rest: r.body, piece: len(r.body)/dripPieces + 1}
					client := s.unbuffered(s.hook(in))
					defer client.CloseIdleConnections()
					return s.comparedBy(ctx, in, client, r, message{body: body, length: int64(len(r.body))}, fmt.Sprintf("in %d pieces", dripPieces))
				})
			},
		},
		{
			ID: "load.slowOthers", Level: LevelError, Source: availabilitySource, Cost: time.Second,
			Promise: "While the request of a slow client arrives, other requests are answered.",
			Advice:  "Serve each connection in a thread or goroutine of its own; in Python, use ThreadingHTTPServer.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.perHook(ctx, nil, func(in *Input) *Finding { return s.beside(ctx, in) })
			},
		},
		{
			ID: "load.keepAlive", Level: LevelWarning, Source: "RFC 9112, Persistence", Cost: 100 * time.Millisecond,
			Promise: "A connection stays open for the next call: API servers keep connections, and each new one costs a TLS handshake.",
			Advice:  "Keep connections alive, and set Content-Length or chunks in answers; in Python's http.server, set protocol_version to HTTP/1.1.",
			try:     tryKeepAlive,
		},
		{
			ID: "load.http1", Level: LevelError, Source: contactSource,
			Promise: "The webhook answers over HTTP/1.1.",
			Advice:  "Serve HTTP/1.1 beside HTTP/2: proxies and API servers without HTTP/2 use it.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.overHTTP(ctx, false)
			},
		},
		{
			ID: "load.http2", Level: LevelError, Source: contactSource,
			Promise: "A webhook that offers HTTP/2 answers concurrent calls over it: API servers prefer it.",
			Advice:  "Answer over HTTP/2 as over HTTP/1.1, or don't offer h2 in the TLS handshake.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.overHTTP(ctx, true)
			},
		},
		{
			ID: "latency.timeout", Level: LevelError, Source: admissionServerLimit, Cost: latencyTime,
			Promise: "99 of 100 calls take less than half of timeoutSeconds.",
			Advice:  "Make the webhook faster, or raise timeoutSeconds: calls that take longer are failures.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.latency(ctx, func(h *Hook, at []time.Duration) *Finding {
					switch limit := h.timeout(); {
					case at[3] >= limit:
						return &Finding{}
					case at[2] > limit/2:
						return &Finding{Level: LevelWarning}
					}
					return nil
				})
			},
		},
		{
			ID: "latency.typical", Level: LevelAdvice, Source: availabilitySource,
			Promise: "Admission webhooks evaluate as quickly as possible, typically in milliseconds, since they add to API request latency.",
			Advice:  "Don't call other services while a request waits; keep what they say in a cache.",
			try: func(ctx context.Context, s *Suite) ([]Finding, error) {
				return s.latency(ctx, func(_ *Hook, at []time.Duration) *Finding {
					if at[0] > typicalLatency {
						return &Finding{}
					}
					return nil
				})
			},
		},
	}
}

// concurrently makes many calls of a webhook at the same time, with different inputs.
func (s *Suite) concurrently(ctx context.Context, in *Input) *Finding {
	inputs := []*Input{in}
	for _, other := range s.Inputs {
		if other != in && other.Hook == in.Hook && s.good(ctx, other) {
			inputs = append(inputs, other)
		}
	}
	seen := make([]mixUp, concurrentCalls)
	var calls sync.WaitGroup
	for i := range seen {
		calls.Add(1)
		go func() {
			defer calls.Done()
			for k := range 4 {
				one := inputs[(i+k)%len(inputs)]
				if seen[i] = s.mixedUp(ctx, one); seen[i].text != "" {
					return
				}
			}
		}()
	}
	calls.Wait()
	failed, first := 0, ""
	for _, mix := range seen {
		if mix.text == "" || mix.patch && s.varies(ctx, mix.in) {
			continue
		}
		if failed++; first == "" {
			first = mix.text
		}
	}
	if failed == 0 {
		return nil
	}
	return &Finding{
		Sent: fmt.Sprintf("%s, %d at once", s.describe(in), concurrentCalls),
		Seen: fmt.Sprintf("%d of %d clients with a wrong answer, such as %s", failed, concurrentCalls, first),
	}
}

// mixUp is a wrong answer to one of several calls at the same time. If text is "", the answer is right.
type mixUp struct {
	in   *Input
	text string
	// patch is true if the answer has the same decision as the answer to a single call. Then only the patches differ.
	patch bool
}

func (s *Suite) mixedUp(ctx context.Context, in *Input) mixUp {
	alone := s.asked(ctx, in)
	got := s.ask(ctx, in, in.review())
	if fault := got.worse(alone); fault != "" {
		return mixUp{in: in, text: fault}
	}
	want, other := outcomeOf(alone, in.object()), outcomeOf(got, in.object())
	return mixUp{in: in, text: want.difference(other), patch: want.allowed == other.allowed && want.code == other.code}
}

// varies tells whether the answers to an input also differ if the calls come one after the other.
func (s *Suite) varies(ctx context.Context, in *Input) bool {
	for range 3 {
		if s.mixedUp(ctx, in).text != "" {
			return true
		}
	}
	return false
}

// enlarged sends one input of each webhook, with large objects. The argument fields names the fields of the request
// that have these objects.
func (s *Suite) enlarged(ctx context.Context, fields ...string) ([]Finding, error) {
	return s.perHook(ctx, func(in *Input) bool {
		for _, field := range fields {
			if tree.At(in.request, field, "metadata") == nil {
				return false
			}
		}
		return in.Operation() != "CONNECT"
	}, func(in *Input) *Finding {
		r := in.with(func(_, request map[string]any) {
			for _, field := range fields {
				enlarge(request[field].(map[string]any))
			}
		})
		got := s.ask(ctx, in, r)
		sent := fmt.Sprintf("%s, with %d bytes", s.describe(in), len(r.body))
		if fault := got.worse(s.asked(ctx, in)); fault != "" {
			return &Finding{Sent: sent, Seen: fault}
		}
		if was := s.asked(ctx, in); was.allowed != got.allowed {
			return &Finding{Sent: sent, Seen: outcomeOf(was, nil).difference(outcomeOf(got, nil))}
		}
		return nil
	})
}

// enlarge makes an object as large as etcd can store, by managed fields: these grow when many managers write an object,
// and webhooks ignore them.
func enlarge(object map[string]any) {
	metadata, _ := object["metadata"].(map[string]any)
	var managers []any
	name := strings.Repeat("a", 1000)
	for i := range largeObject / 1200 {
		managers = append(managers, map[string]any{
			"manager": fmt.Sprintf("manager-%d", i), "operation": "Update", "apiVersion": object["apiVersion"],
			"time":       "2026-01-01T00:00:00Z",
			"fieldsType": "FieldsV1",
			"fieldsV1":   map[string]any{"f:metadata": map[string]any{"f:annotations": map[string]any{fmt.Sprintf("f:%s-%d", name, i): map[string]any{}}}},
		})
	}
	metadata["managedFields"] = managers
}

// drip is a body that the client sends in pieces, with pauses.
type drip struct {
	ctx   context.Context
	rest  []byte
	piece int
}

// Read implements io.Reader.
func (d *drip) Read(p []byte) (int, error) {
	if len(d.rest) == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(dripPause):
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
	n := copy(p, d.rest[:min(d.piece, len(d.rest))])
	d.rest = d.rest[n:]
	return n, nil
}

// beside sends an input while another client has sent only the first half of its request. It returns a finding if the
// webhook doesn't answer the input in time, or answers worse than without the other client.
func (s *Suite) beside(ctx context.Context, in *Input) *Finding {
	h := s.hook(in)
	stalled, cancel := context.WithCancel(ctx)
	defer cancel()
	r := in.review()
	half, more := io.Pipe()
	slow := s.unbuffered(h)
	defer slow.CloseIdleConnections()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.send(stalled, slow, message{body: half, length: int64(len(r.body)), expect: true, patience: time.Minute})
		_ = half.Close() // closing a pipe never fails
	}()
	defer func() { cancel(); more.CloseWithError(context.Canceled); <-ended }()
	if _, err := more.Write(r.body[:len(r.body)/2]); err != nil {
		return nil // the webhook has closed the slow connection, which is allowed
	}
	quick := s.through(h.Endpoint.transport(false), h)
	defer quick.CloseIdleConnections()
	for range 2 {
		if fault := s.askBy(ctx, in, quick, in.review(), message{patience: min(h.timeout(), besidePatience)}).worse(s.asked(ctx, in)); fault != "" {
			return &Finding{Sent: s.describe(in) + ", while another client has sent one half of its request", Seen: fault}
		}
	}
	return nil
}

// unbuffered returns a client that sends each piece of a body immediately, unless the endpoint has its own transport.
func (s *Suite) unbuffered(h *Hook) *http.Client {
	transport := h.Endpoint.transport(false)
	if t, is := transport.(*http.Transport); is && h.Endpoint.Transport == nil {
		t.WriteBufferSize, t.ExpectContinueTimeout = 1, besidePatience
	}
	return s.through(transport, h)
}

// tryKeepAlive makes several calls of each webhook. At least one of the calls must use the connection of an earlier
// call.
func tryKeepAlive(ctx context.Context, s *Suite) ([]Finding, error) {
	if reason := s.noConnections(); reason != "" {
		return nil, Skipped(reason)
	}
	return s.perHook(ctx, nil, func(in *Input) *Finding {
		client := s.through(s.hook(in).Endpoint.transport(false), s.hook(in))
		defer client.CloseIdleConnections()
		const calls = 3
		reused := 0
		traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
			if c.Reused {
				reused++
			}
		}})
		for range calls {
			if fault := s.askBy(traced, in, client, in.review(), message{}).worse(s.asked(ctx, in)); fault != "" {
				return &Finding{Level: LevelError, Sent: s.describe(in) + ", on a connection that stays open", Seen: fault}
			}
		}
		if reused == 0 {
			return &Finding{Sent: fmt.Sprintf("%s, %d times", s.describe(in), calls), Seen: "a new connection for each call"}
		}
		return nil
	})
}

// overHTTP sends one input of each webhook several times at once, over HTTP/2 or, if two is false, over HTTP/1.1.
func (s *Suite) overHTTP(ctx context.Context, two bool) ([]Finding, error) {
	if reason := s.noConnections(); reason != "" {
		return nil, Skipped(reason)
	}
	offered := false
	findings, err := s.perHook(ctx, nil, func(in *Input) *Finding {
		client := s.through(s.hook(in).Endpoint.transport(two), s.hook(in))
		defer client.CloseIdleConnections()
		first := s.askBy(ctx, in, client, in.review(), message{})
		version := "HTTP/1.1"
		if two {
			if first.err == nil && first.proto != 2 {
				return nil
			}
			offered, version = true, "HTTP/2"
		}
		answers := []*answer{first}
		var mu sync.Mutex
		var calls sync.WaitGroup
		for range 8 {
			calls.Add(1)
			go func() {
				defer calls.Done()
				a := s.askBy(ctx, in, client, in.review(), message{})
				mu.Lock()
				defer mu.Unlock()
				answers = append(answers, a)
			}()
		}
		calls.Wait()
		for _, a := range answers {
			if fault := a.worse(s.asked(ctx, in)); fault != "" {
				return &Finding{Sent: s.describe(in) + ", over " + version, Seen: fault}
			}
		}
		return nil
	})
	if two && !offered && err == nil && len(findings) == 0 {
		return nil, skipped("the webhook doesn't offer HTTP/2")
	}
	return findings, err
}

// noConnections returns the reason why the suite can't control its connections, or "" if it can.
func (s *Suite) noConnections() string {
	for i := range s.Hooks {
		if s.Hooks[i].Endpoint.Transport != nil {
			return "the calls go through the API server"
		}
	}
	return ""
}

// latency makes many calls, one after the other. It calls judge with four durations: 50, 90, 99 and 100 per cent of the
// calls took at most these durations.
func (s *Suite) latency(ctx context.Context, judge func(h *Hook, at []time.Duration) *Finding) ([]Finding, error) {
	return s.perHook(ctx, nil, func(in *Input) *Finding {
		var took []time.Duration
		for began := time.Now(); len(took) < latencyCalls && time.Since(began) < latencyTime; {
			r := in.review()
			got := s.hook(in).send(ctx, s.client(in.Hook), message{body: bytes.NewReader(r.body)})
			if ctx.Err() != nil {
				return nil
			}
			took = append(took, got.took)
		}
		at := percentiles(took, 0.5, 0.9, 0.99, 1)
		f := judge(s.hook(in), at)
		if f != nil {
			f.Sent = fmt.Sprintf("%s, %d times; timeoutSeconds is %v", s.describe(in), len(took), s.hook(in).timeout())
			f.Seen = fmt.Sprintf("p50 %v, p90 %v, p99 %v, the longest %v", round(at[0]), round(at[1]), round(at[2]), round(at[3]))
		}
		return f
	})
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
