// Package loopback has the transport by which a server's own clients call the server: as a function call, without a
// connection. [New] is the constructor. Don't use the package for a client that must work after the server has stopped.
package loopback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"
)

// Transport is a RoundTripper that calls the handler of the server itself, with all filters but without a connection.
// The server's own clients and informers use the Transport. No certificate is needed, and all requests end when the
// server stops.
type Transport struct {
	handler atomic.Pointer[http.Handler]
	// life ends when the server stops.
	life context.Context
}

// New returns a transport whose requests end with life.
func New(life context.Context) *Transport { return &Transport{life: life} }

var errStopped = errors.New("the server has stopped")

// RemoteAddr is the address of the client of a request that came through a Transport. No other client has the port 0.
const RemoteAddr = "127.0.0.1:0"

// IsOwn tells whether a request came through a Transport, by the request's ResponseWriter. It returns false for a
// wrapper of that ResponseWriter.
func IsOwn(w http.ResponseWriter) bool {
	_, own := w.(*writer)
	return own
}

// Serve sets the handler. Before Serve, all requests are refused.
func (l *Transport) Serve(h http.Handler) { l.handler.Store(&h) }

// Check returns the reason why requests can't be served, or nil.
func (l *Transport) Check() error {
	switch {
	case l.handler.Load() == nil:
		return errors.New("the server isn't serving yet")
	case l.life.Err() != nil:
		return errStopped
	}
	return nil
}

// RoundTrip implements http.RoundTripper. It returns the response as soon as the handler has written the header, or an
// error if the handler breaks off before that. The caller reads the body while the handler writes it, as a watch
// requires.
func (l *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	handler := l.handler.Load()

	// The handler gets a new context, which ends with the client's context. Of the values of the client's context, the
	// new context has only the trace span: with the other values, the filters of k8s.io/apiserver would use the
	// client's audit event and user for this request.
	ctx, cancel := context.WithCancelCause(trace.ContextWithSpan(context.Background(), trace.SpanFromContext(req.Context())))
	body, out := io.Pipe()
	w := &writer{request: req, header: http.Header{}, body: body, out: out, started: make(chan struct{}), gone: make(chan bool, 1)}
	in := req.Clone(ctx)
	in.RequestURI = req.URL.RequestURI()
	in.RemoteAddr = RemoteAddr
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/2.0", 2, 0
	if in.Body == nil {
		in.Body = http.NoBody
	}
	if in.Host == "" {
		in.Host = req.URL.Host
	}

	release := context.AfterFunc(l.life, func() { cancel(errStopped) })
	forget := context.AfterFunc(req.Context(), func() { cancel(context.Cause(req.Context())) })
	go func() {
		defer release()
		defer forget()
		defer w.finish()
		(*handler).ServeHTTP(w, in)
	}()

	select {
	case <-w.started:
		if w.broken != nil {
			cancel(nil)
			return nil, w.broken
		}
	case <-ctx.Done():
		cancel(nil)
		// The handler may still run. The rest of its output is dropped.
		_ = body.CloseWithError(context.Cause(ctx))
		return nil, context.Cause(ctx)
	}
	return &http.Response{
		Status: http.StatusText(w.code), StatusCode: w.code,
		Proto: "HTTP/2.0", ProtoMajor: 2,
		Header: w.sent, Body: &responseBody{body, cancel}, ContentLength: -1, Request: req,
	}, nil
}

// responseBody is the body of a response. Its Close cancels the request.
type responseBody struct {
	*io.PipeReader
	cancel context.CancelCauseFunc
}

func (b *responseBody) Close() error {
	b.cancel(nil)
	return b.PipeReader.Close()
}

// writer is the http.ResponseWriter of a request that came through a Transport. The filters of k8s.io/apiserver need
// the methods of an HTTP/2 writer: Flusher and CloseNotifier.
type writer struct {
	request *http.Request
	header  http.Header
	body    *io.PipeReader
	out     *io.PipeWriter
	gone    chan bool

	start   sync.Once
	started chan struct{} // closed after code and sent, or broken, are set
	code    int
	sent    http.Header
	broken  error // the error of a handler that broke off before it wrote the header
}

func (w *writer) Header() http.Header { return w.header }

func (w *writer) WriteHeader(code int) {
	w.start.Do(func() {
		w.code, w.sent = code, w.header.Clone()
		close(w.started)
	})
}

func (w *writer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.out.Write(p)
}

func (w *writer) Flush() { w.WriteHeader(http.StatusOK) }

// CloseNotify returns a channel that never gets a value. The context of the request ends when the client is gone.
func (w *writer) CloseNotify() <-chan bool { return w.gone }

func (w *writer) finish() {
	// A handler breaks its response off by a panic with http.ErrAbortHandler. No other panic arrives at this line,
	// because the filters of k8s.io/apiserver recover from other panics.
	if p := recover(); p != nil {
		err := fmt.Errorf("the server broke the response off: %v", p)
		w.start.Do(func() {
			w.broken = err
			close(w.started)
		})
		_ = w.out.CloseWithError(err)
		return
	}
	w.WriteHeader(http.StatusOK)
	_ = w.out.Close()
}
