package reviews

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/tree"
)

// Recorder returns a handler that calls next, and writes each AdmissionReview with its response. If writing fails, the
// handler calls failed, which must not be nil.
func Recorder(w *Writer, next http.Handler, failed func(error)) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			http.Error(rw, fmt.Sprintf("reading the body of the request for %s: %v", req.URL.Path, err), http.StatusBadRequest)
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		copied := &copying{ResponseWriter: rw}
		next.ServeHTTP(copied, req)
		if review, err := tree.Decode(body); err != nil || tree.At(review, "request") == nil || tree.Text(review, "kind") != "AdmissionReview" {
			return // the request isn't an AdmissionReview
		}
		e := Exchange{Path: req.URL.Path, Request: body}.Answered(cmp.Or(copied.code, http.StatusOK), copied.body.Bytes())
		if _, err := w.Write(e); err != nil {
			failed(fmt.Errorf("webhook %s: %w", req.URL.Path, err))
		}
	})
}

// copying is a response that keeps a copy of its content.
type copying struct {
	http.ResponseWriter
	code int
	body bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (c *copying) WriteHeader(code int) {
	c.code = cmp.Or(c.code, code)
	c.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (c *copying) Write(p []byte) (int, error) {
	c.code = cmp.Or(c.code, http.StatusOK)
	c.body.Write(p)
	return c.ResponseWriter.Write(p)
}
