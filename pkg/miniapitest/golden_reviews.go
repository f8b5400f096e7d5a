package miniapitest

import (
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/reviews"
)

// Record makes golden files in a folder: from now on, the AdmissionReviews to the handlers of [WithWebhook] and
// [Server.Webhook] are written to files, with the responses. Package replay sends the reviews to a handler again,
// without a server. "miniapi record" also records other webhooks. Record returns an error if no file can be made in the
// folder. Stop returns errors of later writes. A second call of Record changes the folder.
func (s *Server) Record(dir string) error {
	writer, err := reviews.NewWriter(dir)
	if err != nil {
		return err
	}
	s.webhooks.recording.set(writer)
	return nil
}

// recording writes the reviews to all handlers of one Server into files, after Record has set the writer.
type recording struct {
	mu     sync.Mutex
	writer *reviews.Writer // nil before Record
	err    error
}

func (r *recording) set(writer *reviews.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writer = writer
}

// handler returns a handler that records reviews and responses, and calls next. Before Record, it returns next itself.
func (r *recording) handler(next http.Handler) http.Handler {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer == nil {
		return next
	}
	return reviews.Recorder(r.writer, next, func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.err = errors.Join(r.err, fmt.Errorf("recording a review: %w", err))
	})
}

func (r *recording) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
