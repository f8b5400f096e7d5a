package loopback

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestLoopback(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		handler      http.HandlerFunc
		want         string
	}{
		{
			name: "body", reason: "the response has the body that the handler writes",
			handler: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Path", r.RequestURI)
				w.WriteHeader(http.StatusTeapot)
				_, _ = io.WriteString(w, "short and stout")
			},
			want: "418 /a?b=c short and stout",
		},
		{
			name: "no body", reason: "a handler that writes nothing answers 200, as on a connection",
			handler: func(http.ResponseWriter, *http.Request) {},
			want:    "200  ",
		},
		{
			name: "request body", reason: "the handler reads the body that the client sends",
			handler: func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) },
			want:    "200  sent",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := New(t.Context())
			l.Serve(test.handler)
			response, err := (&http.Client{Transport: l}).Post("https://server/a?b=c", "text/plain", strings.NewReader("sent"))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join([]string{strconv.Itoa(response.StatusCode), response.Header.Get("X-Path"), string(body)}, " ")
			if got != test.want {
				t.Errorf("%s: got %q, want %q", test.reason, got, test.want)
			}
		})
	}
}

// The client reads the events of a watch while the handler writes them. The watch ends when the server stops.
func TestLoopbackStreamsUntilTheServerEnds(t *testing.T) {
	t.Parallel()
	life, end := context.WithCancel(t.Context())
	l := New(life)
	ended := make(chan error, 1)
	l.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "event")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		ended <- context.Cause(r.Context())
	}))
	response, err := (&http.Client{Transport: l}).Get("https://server/watch")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	event := make([]byte, len("event"))
	if _, err := io.ReadFull(response.Body, event); err != nil || string(event) != "event" {
		t.Fatalf("got %q, %v before the handler has ended", event, err)
	}
	end()
	if err := <-ended; !errors.Is(err, errStopped) {
		t.Errorf("the handler's context ended with %v, want %v", err, errStopped)
	}
	if _, err := (&http.Client{Transport: l}).Get("https://server/after"); !errors.Is(err, errStopped) {
		t.Errorf("a request after the end: got %v, want %v", err, errStopped)
	}
}

// The context of a request ends with the client's context, but has none of its values. Otherwise the filters would
// use the client's audit event and user for the request.
func TestLoopbackCarriesTheEndOfAContextAlone(t *testing.T) {
	t.Parallel()
	type key struct{}
	l := New(t.Context())
	ended := make(chan error, 1)
	l.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if value := r.Context().Value(key{}); value != nil {
			t.Errorf("the handler's context has %q of the client's", value)
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		ended <- context.Cause(r.Context())
	}))
	enough := errors.New("enough")
	ctx, end := context.WithCancelCause(context.WithValue(t.Context(), key{}, "a value"))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://server/watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := l.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	end(enough)
	if err := <-ended; !errors.Is(err, enough) {
		t.Errorf("the handler's context ended with %v, want %v", err, enough)
	}
}

// A handler that breaks its response off by a panic ends the request with an error.
func TestLoopbackHandlerPanics(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		write        func(http.ResponseWriter)
	}{
		{"after the header", "the response must not read as whole", func(w http.ResponseWriter) { w.WriteHeader(http.StatusOK) }},
		{"before the header", "the client must not wait for a response", func(http.ResponseWriter) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := New(t.Context())
			l.Serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				test.write(w)
				panic(http.ErrAbortHandler)
			}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://server/", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := l.RoundTrip(request)
			if err == nil {
				defer response.Body.Close()
				_, err = io.ReadAll(response.Body)
			}
			if err == nil || !strings.Contains(err.Error(), "the server broke the response off") {
				t.Errorf("%s: got %v", test.reason, err)
			}
		})
	}
}
