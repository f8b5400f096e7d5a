package miniapitest

import (
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/reviews"
)

// Record writes each AdmissionReview that the server sends to a webhook of this fixture from now on, and the response,
// into a folder: a golden file each, which package replay sends to a handler again, without a server. The webhooks are
// those of [WithWebhook] and [Server.Webhook]; "miniapi record" records those elsewhere too. Stop returns errors of
// writing. A second call records into another folder instead.
func (s *Server) Record(dir string) error {
	writer, err := reviews.NewWriter(dir)
	if err != nil {
		return fmt.Errorf("recording reviews: %w", err)
	}
	s.webhooks.recording.set(writer)
	return nil
}

// recording is where reviews are recorded.
type recording struct {
	mu     sync.Mutex
	writer *reviews.Writer // nil if they aren't
	err    error
}

func (r *recording) set(writer *reviews.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writer = writer
}

// handler returns a handler that records what it passes on to next.
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
