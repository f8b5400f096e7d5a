package miniapitest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http logs to it
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

const (
	// patience is a webhookServer's.
	patience = time.Second
	// handlerTimeout bounds how long a stop waits for handlers whose contexts have ended.
	handlerTimeout = 5 * time.Second
)

// Webhook is an http.Handler that a Server serves to itself, over TLS on a loopback
// address.
type Webhook struct {
	server *webhookServer
	path   string
}

// Webhook serves a handler at a path, in place of one that was there before: tests that
// share a server give it theirs. A path that ends in a slash stands for all below it, too.
// It returns what a webhook configuration says to have it called.
//
// Any handler will do: see AdmissionHandler for one to write in a test. The WebhookMux of
// a controller-runtime webhook server is mounted at "/".
//
// Calls of a webhook whose path or handler WithWebhook would refuse fail, and say why.
func (s *Server) Webhook(path string, handler http.Handler) *Webhook {
	if err := checkWebhook(path, handler); err != nil {
		path = refusedPath + cleaned(path) // nobody else's
		handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		})
	}
	s.webhooks.handle(path, handler)
	return &Webhook{server: s.webhooks, path: path}
}

// refusedPath is where webhooks are that can't be served.
const refusedPath = "/refused"

// checkWebhook says what is wrong with a webhook.
func checkWebhook(path string, handler http.Handler) error {
	switch {
	case !strings.HasPrefix(path, "/"):
		return fmt.Errorf("the path of a webhook must begin with a slash, as /validate does: %q", path)
	case path != cleaned(path) && path != cleaned(path)+"/":
		return fmt.Errorf("webhook %s: the server calls no such path, but %s in its place", path, cleaned(path))
	case isNil(handler):
		return fmt.Errorf("webhook %s: the handler is nil", path)
	}
	return nil
}

// cleaned is the path that the server calls.
func cleaned(p string) string { return path.Join("/", p) }

// URL is where the handler is.
func (w *Webhook) URL() string {
	u := url.URL{Scheme: "https", Host: w.server.address(), Path: w.path}
	return u.String()
}

// CABundle is what verifies it, in PEM.
func (w *Webhook) CABundle() []byte { return w.server.ca }

// ClientConfig is how a webhook configuration says that it is called.
func (w *Webhook) ClientConfig() admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{URL: new(w.URL()), CABundle: w.CABundle()}
}

// webhookServer serves the webhooks of one Server.
type webhookServer struct {
	listener net.Listener
	http     *http.Server
	served   chan struct{}
	inFlight sync.WaitGroup // incremented under mu, before it is closed
	// hangUp ends connections, and the contexts of the requests.
	hangUp func() error
	// patience is how long a stop leaves handlers to calls that the server waits for.
	patience time.Duration

	ca    []byte
	issue func(hosts []string, ips []net.IP) (cert, key []byte, err error)

	mu           sync.Mutex
	handlers     map[string]http.Handler
	certificates map[string]*tls.Certificate
	closed       bool
}

// newWebhookServer takes a port, so that its address is known. It answers after serve.
func newWebhookServer(handlers map[string]http.Handler) (*webhookServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for webhooks: %w", err)
	}
	return &webhookServer{
		listener: listener, served: make(chan struct{}), patience: patience,
		handlers: handlers, certificates: map[string]*tls.Certificate{},
	}, nil
}

// serve answers with certificates of the server whose webhooks these are.
func (s *webhookServer) serve(config *server.Config) {
	s.ca, s.issue = config.CA(), config.ServingCertificate
	// A request whose body isn't read wouldn't notice the end of its connection.
	requests, end := context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:     s,
		BaseContext: func(net.Listener) context.Context { return requests },
		ErrorLog:    log.New(io.Discard, "", 0), // the server answers with what went wrong
		TLSConfig:   &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.certificate},
	}
	s.hangUp = sync.OnceValue(func() error {
		defer end()
		return s.http.Close()
	})
	go func() {
		defer close(s.served)
		_ = s.http.ServeTLS(s.listener, "", "") // ends with close
	}()
}

func (s *webhookServer) address() string { return s.listener.Addr().String() }

// close ends connections at once, then waits for the handlers that are at work.
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
		return errors.Join(err, fmt.Errorf("a webhook handler is still at work %s after its request has ended", handlerTimeout))
	}
}

// certificate is one for the name by which the client calls: NAME.NAMESPACE.svc, if it
// comes by a service.
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
	cert, key, err := s.issue([]string{name}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback})
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

// find gives the handler of the path, with a slash at its end if there is none without,
// which the server leaves out, or else of the longest path above it.
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

// begin says whether a handler may begin, which close waits for then.
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
		return // its connection has been closed
	}
	defer s.inFlight.Done()
	handler, reached := s.find(r.URL.Path), r.Header.Get(reachHeader) == reachRequest
	if reached {
		w.Header().Set(reachHeader, reachAnswer)
	}
	switch {
	case handler == nil:
		http.Error(w, "no webhook is served at "+r.URL.Path, http.StatusNotFound)
	case reached:
		// The handler sees what it is configured for, and nothing else.
		w.WriteHeader(http.StatusNoContent)
	default:
		call(handler, w, r)
	}
}
