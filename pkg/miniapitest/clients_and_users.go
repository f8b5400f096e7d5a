package miniapitest

import (
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
)

// Config returns a new copy of the admin's client configuration. It has no rate limit.
func (s *Server) Config() *rest.Config { return rest.CopyConfig(s.config) }

// Client returns a typed client for the admin.
func (s *Server) Client() kubernetes.Interface {
	// The configuration is the fixture's own, so NewForConfig can't fail.
	return kubernetes.NewForConfigOrDie(s.Config())
}

// DynamicClient returns a dynamic client for the admin.
func (s *Server) DynamicClient() dynamic.Interface { return dynamic.NewForConfigOrDie(s.Config()) }

// errNoUserName is the error for a user without a name. A server can't authenticate a certificate without a name.
var errNoUserName = errors.New("the name of the user is empty: give AddUser or WithUser a name")

// AddUser makes a user, and returns the user's client configuration, which has a client certificate. RBAC decides what
// the user may do; members of system:masters may do everything. An existing user gets the new groups, so each of the
// tests that share a server can add the same users.
//
// If the name is empty, the requests of the client configuration fail with the reason.
func (s *Server) AddUser(name string, groups ...string) *rest.Config {
	if name == "" {
		return failing(errNoUserName)
	}
	cert, key, err := s.server.User(name, groups)
	if err != nil {
		return failing(fmt.Errorf("adding user %q: %w", name, err))
	}
	config := s.Config()
	config.CertData, config.KeyData = cert, key
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[name] = config
	return rest.CopyConfig(config)
}

// User returns the client configuration of a user of AddUser or WithUser. For any other name, the requests of the
// client configuration fail with the reason.
func (s *Server) User(name string) *rest.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if config, ok := s.users[name]; ok {
		return rest.CopyConfig(config)
	}
	return failing(fmt.Errorf("the server has no user %q: make the user by AddUser or WithUser", name))
}

// failing returns a client configuration whose requests fail with an error. It is for functions that can't return an
// error.
func failing(err error) *rest.Config {
	return &rest.Config{Transport: failedTransport{err}}
}

type failedTransport struct{ err error }

// RoundTrip implements http.RoundTripper.
func (t failedTransport) RoundTrip(*http.Request) (*http.Response, error) { return nil, t.err }

// WithUser makes a user at the start, as Server.AddUser does later. Server.User returns the user's client
// configuration, and KubeconfigFile has a context with the user's name.
func WithUser(name string, groups ...string) Option {
	return func(o *options) error {
		if name == "" {
			return errNoUserName
		}
		for _, earlier := range o.users {
			if earlier.name == name && !sets.New(earlier.groups...).Equal(sets.New(groups...)) {
				return fmt.Errorf("WithUser: user %q is given with groups %q and with groups %q: give all groups of a user at once", name, earlier.groups, groups)
			}
		}
		o.users = append(o.users, user{name, groups})
		return nil
	}
}

// adminConfig returns the client configuration of the admin. It has no rate limit, so that tests aren't slowed down.
func adminConfig(info engine.Info) *rest.Config {
	return &rest.Config{
		Host: info.Host, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: info.CA, CertData: info.Cert, KeyData: info.Key},
	}
}
