package faults

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// openWatch is a watch in progress. A fault ends the watch by a call of end.
type openWatch struct {
	*visit
	context context.Context
	end     context.CancelCauseFunc
}

// ended is the error of a watch that a fault has ended. It is the cause of the end of the watch's context.
type ended struct{ *injection }

func (e ended) Error() string { return fmt.Sprintf("fault %s: %s", e.fault.Name, e.effect) }

// watch serves a watch request.
func (v *visit) watch(w http.ResponseWriter, req *http.Request) {
	ctx, end := context.WithCancelCause(req.Context())
	defer end(nil)
	current, forget := v.rules.open(&openWatch{v, ctx, end})
	defer forget()
	req = req.WithContext(ctx)
	marked := &marking{ResponseWriter: w, events: v.events}
	w = responsewriter.WrapForHTTP1Or2(marked)

	var met *injection
	if current != nil {
		met = v.meet(req, current)
	}
	switch {
	case met == nil || met.effect != closing && met.effect != expire:
		v.respond(w, req, met)
	case met.fault.After == 0:
		end(ended{met})
		v.beginStream(w, req)
	default:
		// In a compressed stream, events can't be counted, so the response must not be compressed.
		plain := req.Clone(ctx)
		plain.Header.Del("Accept-Encoding")
		counted := &counting{ResponseWriter: w, left: met.fault.After, end: func() { end(ended{met}) }}
		v.next.ServeHTTP(responsewriter.WrapForHTTP1Or2(counted), plain)
	}
	cause := ended{}
	if errors.As(context.Cause(ctx), &cause) && cause.effect == expire && marked.code == http.StatusOK {
		// The response has begun, so the server can't answer with an error.
		_ = v.writeExpired(w, req)
	}
}

// open adds a watch to the open watches, and returns the rules in force at this moment. endWatches compares the watch
// with rules that are added later.
func (s *ruleSet) open(o *openWatch) (current *inForce, forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches = append(s.watches, o)
	return s.current.Load(), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watches = slices.DeleteFunc(s.watches, func(other *openWatch) bool { return other == o })
	}
}

// endWatches ends open watches when rules are added, in the order in which the watches began. It uses only the new
// rules with Close or Expire whose After is 0. A later watch is compared with the rules when it begins.
func (s *ruleSet) endWatches(fresh rules) {
	ending := slices.DeleteFunc(slices.Clone(fresh), func(r *rule) bool {
		return r.effect != closing && r.effect != expire || r.fault.After > 0
	})
	for _, o := range s.watches {
		met := ending.inject(o.subject)
		if met == nil || o.context.Err() != nil {
			continue
		}
		record(o.context, o.events, met)
		if met.delay == 0 {
			o.end(ended{met})
			continue
		}
		go func() {
			wait(o.context, s.stopping, met.delay)
			o.end(ended{met})
		}()
	}
}

// beginStream writes the header of the response to a watch.
func (v *visit) beginStream(w http.ResponseWriter, req *http.Request) {
	info, err := negotiation.NegotiateOutputMediaTypeStream(req, v.config.Serializer, negotiation.DefaultEndpointRestrictions)
	if err != nil {
		fail(w, req, v.config.Serializer, err)
		return
	}
	mediaType := info.MediaType
	switch mediaType {
	case runtime.ContentTypeJSON:
	case runtime.ContentTypeCBOR:
		mediaType = runtime.ContentTypeCBORSequence
	default:
		mediaType += ";stream=watch"
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(http.StatusOK)
}

// writeExpired writes the ERROR event that says that a resource version has expired.
func (v *visit) writeExpired(w http.ResponseWriter, req *http.Request) error {
	info, err := negotiation.NegotiateOutputMediaTypeStream(req, v.config.Serializer, negotiation.DefaultEndpointRestrictions)
	if err != nil {
		return err
	}
	version := req.URL.Query().Get("resourceVersion")
	if version == "" {
		version = "0"
	}
	// The context of the request has already ended, so reading the revision needs another context.
	oldest, err := v.rules.now(v.config.Stopping)
	if err != nil {
		return err
	}
	status := apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %s (%d)", version, oldest)).ErrStatus
	object, err := runtime.Encode(v.config.Serializer.EncoderForVersion(info.Serializer, metav1.Unversioned), &status)
	if err != nil {
		return err
	}
	var out io.Writer = w
	if w.Header().Get("Content-Encoding") == "gzip" {
		// The handler may already have compressed the start of the stream. In gzip, another compressed part may follow.
		compressed := gzip.NewWriter(w)
		defer func() { _ = compressed.Close() }()
		out = compressed
	}
	encoder := v.config.Serializer.EncoderForVersion(info.StreamSerializer.Serializer, metav1.Unversioned)
	event := &metav1.WatchEvent{Type: string(watch.Error), Object: runtime.RawExtension{Raw: object}}
	return encoder.Encode(event, info.StreamSerializer.NewFrameWriter(out))
}
