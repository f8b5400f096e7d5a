package webhooksuite

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sort"
	"time"
)

// The limits of calls.
const (
	// defaultTimeout is the timeout of a webhook that has no configuration, or whose configuration of version v1 sets
	// none. betaTimeout is the timeout of a webhook whose configuration of version v1beta1 sets none.
	defaultTimeout = 10 * time.Second
	betaTimeout    = 30 * time.Second
	// maxAnswer is the largest number of bytes that the suite reads of an answer.
	maxAnswer = 16 << 20
)

// timeout returns the time that the suite waits for the webhook: its timeoutSeconds, or the default of the version of
// its configuration.
func (h *Hook) timeout() time.Duration {
	switch {
	case h.Entry.TimeoutSeconds != nil && *h.Entry.TimeoutSeconds > 0:
		return time.Duration(*h.Entry.TimeoutSeconds) * time.Second
	case h.Configuration != nil && h.Configuration.isBeta():
		return betaTimeout
	}
	return defaultTimeout
}

// message is a request to a webhook. Some cases send a message that no API server sends.
type message struct {
	method      string        // POST if empty
	contentType string        // application/json if empty
	timeout     string        // the parameter timeout of the URL; the webhook's own timeout if empty
	patience    time.Duration // the time after which the call ends; the webhook's own timeout if 0
	body        io.Reader
	length      int64 // the length of a body that net/http can't determine
	// expect sets the header "Expect: 100-continue". The transport limits the time for which the client then waits for
	// the webhook's answer 100 before it sends the body.
	expect bool
	// credentials is the header Authorization. If it is nil, the suite's tokens set the header.
	credentials *string
}

// reply is the answer of a webhook to a message.
type reply struct {
	err    error
	code   int
	proto  int
	header http.Header
	body   []byte
	took   time.Duration
	late   bool // the call ended at its timeout, without an answer
}

// client returns an HTTP client for calls of the webhook with the index hook. The client keeps connections open between
// calls.
func (s *Suite) client(hook int) *http.Client {
	s.once.Do(func() {
		for i := range s.Hooks {
			s.clients = append(s.clients, s.through(s.Hooks[i].Endpoint.transport(true), &s.Hooks[i]))
		}
	})
	return s.clients[hook]
}

// Close closes the idle connections of the suite.
func (s *Suite) Close() {
	for i := range s.clients {
		s.clients[i].CloseIdleConnections()
	}
}

// through returns an HTTP client for calls of a webhook through a transport. The client presents the suite's tokens.
func (s *Suite) through(transport http.RoundTripper, h *Hook) *http.Client {
	if s.Tokens != nil {
		transport = presenting{transport, s.Tokens, h}
	}
	return &http.Client{Transport: transport, CheckRedirect: noRedirect}
}

// noRedirect makes the client return a redirect instead of following it, as API servers do.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// transport returns e.Transport, or a new transport if e.Transport is nil. If http2 is false, the new transport uses
// HTTP/1.1.
func (e *Endpoint) transport(http2 bool) http.RoundTripper {
	if e.Transport != nil {
		return e.Transport
	}
	t := &http.Transport{TLSClientConfig: e.unchecked(), ForceAttemptHTTP2: http2, MaxIdleConnsPerHost: 64}
	if !http2 {
		t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	return t
}

// unchecked returns a TLS configuration that accepts any certificate. Only the cases about certificates check the
// certificate. All other cases can then report other faults of a webhook with a bad certificate.
func (e *Endpoint) unchecked() *tls.Config {
	config := &tls.Config{}
	if e.TLS != nil {
		config = e.TLS.Clone()
	}
	config.InsecureSkipVerify = true
	return config
}

func (h *Hook) send(ctx context.Context, client *http.Client, m message) reply {
	u, err := url.Parse(h.Endpoint.URL)
	if err != nil {
		return reply{err: err}
	}
	if m.timeout == "" {
		m.timeout = h.timeout().String()
	}
	u.RawQuery = url.Values{"timeout": {m.timeout}}.Encode()
	if m.method == "" {
		m.method = http.MethodPost
	}
	if m.patience == 0 {
		m.patience = h.timeout()
	}
	ctx, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, m.method, u.String(), m.body)
	if err != nil {
		return reply{err: err}
	}
	if m.length > 0 {
		request.ContentLength = m.length
	}
	if m.contentType == "" {
		m.contentType = "application/json"
	}
	request.Header.Set("Content-Type", m.contentType)
	if m.expect {
		request.Header.Set("Expect", "100-continue")
	}
	if m.credentials != nil {
		request.Header.Set("Authorization", *m.credentials)
	}
	request.Header.Set("Accept", "application/json, */*")
	request.Header.Set("User-Agent", "kube-apiserver-admission")
	began := time.Now()
	response, err := client.Do(request)
	if err != nil {
		late := errors.Is(err, context.DeadlineExceeded)
		if late {
			err = fmt.Errorf("no answer within %v", m.patience)
		}
		return reply{err: err, took: time.Since(began), late: late}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return reply{err: err, code: response.StatusCode, proto: response.ProtoMajor, header: response.Header, body: body, took: time.Since(began)}
}

// ask sends a review to the webhook of an input, and returns the answer.
func (s *Suite) ask(ctx context.Context, in *Input, r *review) *answer {
	return s.askBy(ctx, in, s.client(in.Hook), r, message{})
}

// askBy sends a review by an HTTP client, and returns the answer. The argument m has further properties of the request,
// such as its method. If m has a body, askBy sends this body instead of the review.
func (s *Suite) askBy(ctx context.Context, in *Input, client *http.Client, r *review, m message) *answer {
	if m.body == nil {
		m.body = bytes.NewReader(r.body)
	}
	got := s.hook(in).send(ctx, client, m)
	if got.err == nil {
		s.mu.Lock()
		if s.took == nil {
			s.took = map[int][]time.Duration{}
		}
		s.took[in.Hook] = append(s.took[in.Hook], got.took)
		s.mu.Unlock()
	}
	return read(r, s.hook(in).Kind, got)
}

// percentiles returns a duration for each of the parts. For the part 0.5, for example, half of the calls took at most
// the returned duration.
func percentiles(took []time.Duration, parts ...float64) []time.Duration {
	sorted := append([]time.Duration{}, took...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i] < sorted[j] })
	at := make([]time.Duration, len(parts))
	for i, part := range parts {
		if len(sorted) > 0 {
			at[i] = sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
		}
	}
	return at
}
