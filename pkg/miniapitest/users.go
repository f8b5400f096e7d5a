package miniapitest

import (
	"errors"
	"fmt"
	"net/http"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Config is a client configuration for the admin, without a rate limit. Each call
// returns a copy.
func (s *Server) Config() *rest.Config { return rest.CopyConfig(s.config) }

// Client is a typed client of the admin.
func (s *Server) Client() kubernetes.Interface {
	// The configuration is our own: it can't be refused.
	return kubernetes.NewForConfigOrDie(s.Config())
}

// DynamicClient is a dynamic client of the admin.
func (s *Server) DynamicClient() dynamic.Interface { return dynamic.NewForConfigOrDie(s.Config()) }

// errNoUserName is of a certificate that nobody would be known by.
var errNoUserName = errors.New("a user needs a name")

// AddUser makes a user and returns its client configuration, with a certificate. What
// the user may do is for RBAC objects to say; members of system:masters may do all. One
// whom there is already is made anew, with these groups: tests that share a server ask
// for the users they need.
//
// Requests of a user without a name fail, and say why.
func (s *Server) AddUser(name string, groups ...string) *rest.Config {
	if name == "" {
		return failing(errNoUserName)
	}
	config, err := s.server.UserConfig(name, groups...)
	if err != nil {
		// It takes a machine without randomness.
		return failing(fmt.Errorf("user %s: %w", name, err))
	}
	config.QPS = s.config.QPS
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[name] = config
	return rest.CopyConfig(config)
}

// User is the client configuration of a user whom AddUser or WithUser has made.
func (s *Server) User(name string) *rest.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if config, ok := s.users[name]; ok {
		return rest.CopyConfig(config)
	}
	return failing(fmt.Errorf("there is no user %q: AddUser and WithUser make users", name))
}

// failing is a configuration whose requests fail, for those who can't return an error.
func failing(err error) *rest.Config {
	return &rest.Config{Transport: failedTransport{err}}
}

type failedTransport struct{ err error }

// RoundTrip implements http.RoundTripper.
func (t failedTransport) RoundTrip(*http.Request) (*http.Response, error) { return nil, t.err }
