package faults

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// The values of Fault.Reset.
const (
	resetStream     = "stream"
	resetConnection = "connection"
)

// abort breaks off the response of a request: over HTTP/2 it resets the stream, and over HTTP/1.1 it closes the
// connection.
func abort() {
	// This panic makes net/http break off the response. net/http recovers from the panic.
	panic(http.ErrAbortHandler) //nolint:forbidigo // net/http recovers from this value
}

// truncate serves a request, and breaks off the response after a number of bytes of its body.
func (v *visit) truncate(w http.ResponseWriter, req *http.Request, bytes int) {
	ctx, end := context.WithCancel(req.Context())
	defer end()
	cut := &cutting{ResponseWriter: w, left: bytes, end: end}
	// The cut must cause neither an error nor a panic in the handler. The library would log an error of Write, and
	// would write an answer after a panic.
	v.next.ServeHTTP(responsewriter.WrapForHTTP1Or2(cut), req.WithContext(ctx))
	if cut.cut {
		abort()
	}
}

// cutting is a response that passes on the first bytes of the body and drops the rest.
type cutting struct {
	http.ResponseWriter
	left int
	cut  bool
	// end ends the context of the request. It is called at the cut, because a watch would go on otherwise.
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
	// Without a flush, a break of the response would also drop the bytes before the cut.
	return len(p), http.NewResponseController(c.ResponseWriter).Flush()
}

// discarded is a response that is dropped.
type discarded struct{ header http.Header }

// Header implements http.ResponseWriter.
func (d *discarded) Header() http.Header { return d.header }

// Write implements http.ResponseWriter.
func (d *discarded) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements http.ResponseWriter.
func (d *discarded) WriteHeader(int) {}

// Flush implements http.Flusher.
func (d *discarded) Flush() {}
