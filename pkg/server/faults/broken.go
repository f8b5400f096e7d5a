package faults

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// Values of Fault.Reset.
const (
	resetStream     = "stream"
	resetConnection = "connection"
)

// abort ends a request without the end of its response: an HTTP/2 stream is reset, an HTTP/1.1 connection is closed.
func abort() {
	panic(http.ErrAbortHandler) //nolint:forbidigo // net/http knows no other way, and recovers from this value
}

// truncate serves a request, and ends it after a number of bytes of the response's body.
func (v *visit) truncate(w http.ResponseWriter, req *http.Request, bytes int) {
	ctx, end := context.WithCancel(req.Context())
	defer end()
	cut := &cutting{ResponseWriter: w, left: bytes, end: end}
	// A panic in the handler would be answered by the library, and an error of a write logged.
	v.next.ServeHTTP(responsewriter.WrapForHTTP1Or2(cut), req.WithContext(ctx))
	if cut.cut {
		abort()
	}
}

// cutting passes on the begin of a response.
type cutting struct {
	http.ResponseWriter
	left int
	cut  bool
	// end ends the request, which may be a watch.
	end context.CancelFunc
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (c *cutting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Write implements http.ResponseWriter.
func (c *cutting) Write(p []byte) (int, error) {
	switch {
	case c.cut:
		return len(p), nil
	case len(p) <= c.left:
		c.left -= len(p)
		return c.ResponseWriter.Write(p)
	}
	c.cut = true
	defer c.end()
	if _, err := c.ResponseWriter.Write(p[:c.left]); err != nil {
		return 0, err
	}
	// Bytes that aren't flushed don't reach the client.
	return len(p), http.NewResponseController(c.ResponseWriter).Flush()
}

// marking adds Header to a response.
type marking struct {
	http.ResponseWriter
	events *events
	code   int
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (m *marking) Unwrap() http.ResponseWriter { return m.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (m *marking) WriteHeader(code int) {
	if m.code == 0 {
		m.code = code
		m.events.addTo(m.Header())
	}
	m.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (m *marking) Write(p []byte) (int, error) {
	if m.code == 0 {
		m.WriteHeader(http.StatusOK)
	}
	return m.ResponseWriter.Write(p)
}

// discarded is a response that no client reads.
type discarded struct{ header http.Header }

// Header implements http.ResponseWriter.
func (d *discarded) Header() http.Header { return d.header }

// Write implements http.ResponseWriter.
func (d *discarded) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements http.ResponseWriter.
func (d *discarded) WriteHeader(int) {}

// Flush implements http.Flusher.
func (d *discarded) Flush() {}
