package miniapitest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http accepts no other type of logger
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
)

const (
	// patience is the default time for which a stop waits for handlers whose answers the server needs.
	patience = time.Second
	// handlerTimeout limits the time for which a stop waits for handlers whose contexts have ended.
	handlerTimeout = 5 * time.Second
)

// webhookServer serves all webhooks of one Server.
type webhookServer struct {
	listener net.Listener
	http     *http.Server
	served   chan struct{}
	inFlight sync.WaitGroup // incremented while mu is held, before closed is set
	// hangUp closes all connections, and ends the contexts of their requests.
	hangUp func() error
	// patience is the time for which a stop waits for handlers whose answers the server needs.
	patience time.Duration

	log       *serverLog
	authority engine.Authority // set by serve
	recording recording

	mu           sync.Mutex
	handlers     map[string]http.Handler
	certificates map[string]*tls.Certificate
	closed       bool
}

// newWebhookServer opens a port, so that its address is known. Requests are answered after serve is called.
func newWebhookServer(handlers map[string]http.Handler, log *serverLog) (*webhookServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for webhooks: %w", err)
	}
	return &webhookServer{
		listener: listener, served: make(chan struct{}), patience: patience, log: log,
		handlers: handlers, certificates: map[string]*tls.Certificate{},
	}, nil
}

// serve begins to answer requests. The certificates come from the authority of the server that calls the webhooks.
func (s *webhookServer) serve(authority engine.Authority) {
	s.authority = authority
	// hangUp also ends the context of every request. Without this context, a handler that doesn't read the body
	// wouldn't notice that its connection is closed.
	requests, end := context.WithCancel(context.Background())
	s.http = &http.Server{ //nolint:gosec // the API server of the test is the only client
		Handler:     s,
		BaseContext: func(net.Listener) context.Context { return requests },
		ErrorLog:    log.New(io.Discard, "", 0), // the server that calls the webhook reports the error
		TLSConfig:   &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.certificate},
	}
	s.hangUp = sync.OnceValue(func() error {
		defer end()
		return s.http.Close()
	})
	go func() {
		defer close(s.served)
		_ = s.http.ServeTLS(s.listener, "", "") // ServeTLS returns when close is called
	}()
}

func (s *webhookServer) address() string { return s.listener.Addr().String() }

// close closes all connections, and then waits for the running handlers, for handlerTimeout at most.
func (s *webhookServer) close() error {
	if s.http == nil {
		return s.listener.Close()
	}
	err := s.hangUp()
	<-s.served
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		s.inFlight.Wait()
	}()
	ctx, cancel := context.WithTimeout(context.Background(), handlerTimeout)
	defer cancel()
	select {
	case <-idle:
		return err
	case <-ctx.Done():
		return errors.Join(err, fmt.Errorf("a webhook handler is still at work %s after its request has ended: the handler must return when the context of the request ends", handlerTimeout))
	}
}

// certificate returns a certificate for the name that the client requests, if the name ends with .svc. For any other
// name, it returns a certificate for localhost.
func (s *webhookServer) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.ToLower(hello.ServerName)
	if !strings.HasSuffix(name, ".svc") {
		name = "localhost"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.certificates[name]; known != nil {
		return known, nil
	}
	cert, key, err := s.authority.ServingCertificate([]string{name}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback})
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	s.certificates[name] = &pair
	return &pair, nil
}

func (s *webhookServer) handle(path string, handler http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[path] = handler
}

// find returns the handler for a path. A slash at the end of a handler's path doesn't matter, because the server leaves
// it out. If no handler has the path, find returns the handler of the nearest path above it that ends in a slash.
func (s *webhookServer) find(path string) http.Handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, exact := range []string{path, path + "/"} {
		if handler := s.handlers[exact]; handler != nil {
			return handler
		}
	}
	for end := len(path); end > 0; {
		end = strings.LastIndexByte(path[:end], '/')
		if handler := s.handlers[path[:end+1]]; handler != nil {
			return handler
		}
	}
	return nil
}

// begin tells whether a handler may start. If it may, close waits for its end.
func (s *webhookServer) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.inFlight.Add(1)
	}
	return !s.closed
}

// ServeHTTP implements http.Handler.
func (s *webhookServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		return // close has closed the connection
	}
	defer s.inFlight.Done()
	handler, reached := s.find(r.URL.Path), r.Header.Get(engine.ReachHeader) == engine.ReachRequest
	if reached {
		w.Header().Set(engine.ReachHeader, engine.ReachAnswer)
	}
	switch {
	case handler == nil:
		http.Error(w, "the fixture serves no webhook at "+r.URL.Path+": give the path a handler by WithWebhook or Server.Webhook", http.StatusNotFound)
	case reached:
		// The request only tests whether the server can reach the webhook, so the handler doesn't get it.
		w.WriteHeader(http.StatusNoContent)
	default:
		serveToEnd(s.recording.handler(handler), s.log.note, w, r)
	}
}
