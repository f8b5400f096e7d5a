package miniapitest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
)

// Recorder records the requests to admission webhooks, in order. The zero value is ready for use. A Recorder can record
// several handlers.
type Recorder struct {
	mu      sync.Mutex
	reviews []Review
}

// Review is a recorded request to a webhook.
type Review struct {
	// Path is the path of the URL.
	Path string
	// Query is the query of the URL. It has the timeout of the call.
	Query  url.Values
	Header http.Header
	// APIVersion is the version of the AdmissionReview.
	APIVersion string
	Request    *admissionv1.AdmissionRequest
	// Body is the body: the AdmissionReview in JSON.
	Body []byte
}

// Handler returns a handler that records AdmissionReviews, and passes all requests to next. If next is nil, the result
// is nil. WithWebhook refuses a nil handler.
func (r *Recorder) Handler(next http.Handler) http.Handler {
	if isNil(next) {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			http.Error(w, fmt.Sprintf("reading the body of the request for %s: %v", req.URL.Path, err), http.StatusBadRequest)
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		if review, err := readReview(req); err == nil {
			r.add(Review{
				Path: req.URL.Path, Query: req.URL.Query(), Header: req.Header.Clone(),
				APIVersion: review.APIVersion, Request: review.Request, Body: body,
			})
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, req)
	})
}

func (r *Recorder) add(review Review) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reviews = append(r.reviews, review)
}

// Reviews returns the recorded requests.
func (r *Recorder) Reviews() []Review {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.reviews)
}

// Reset removes all recorded requests.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reviews = nil
}
