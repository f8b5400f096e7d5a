package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Server is the running server of a kubeconfig.
type Server struct {
	// Name is the path of the kubeconfig, and Host the server's address in it.
	Name, Host string
	// Namespace is the namespace of the current context.
	Namespace string
	Client    rest.Interface
}

// Server reads the kubeconfig, and returns the server of its current context.
func (s *Source) Server() (*Server, error) {
	config, err := s.ClientConfig()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", s.Name(), err)
	}
	namespace, _, err := s.load().Namespace()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", s.Name(), err)
	}
	return &Server{Name: s.Name(), Host: config.Host, Namespace: namespace, Client: client.Discovery().RESTClient()}, nil
}

// Wrap adds the address of the server and the path of the kubeconfig to an error. If the server wasn't reached, it also adds
// what to do.
func (s *Server) Wrap(err error) error {
	var unreached *url.Error
	if errors.As(err, &unreached) {
		return fmt.Errorf("server %s of kubeconfig %s: %w: start the server, or give the kubeconfig of one that runs", s.Host, s.Name, unreached.Err)
	}
	return fmt.Errorf("request to %s of kubeconfig %s: %w", s.Host, s.Name, err)
}

// Lacks returns the error about a path that the server doesn't serve. The argument subject names the server. The
// argument what is the text about the server, such as "has no trace".
func (s *Server) Lacks(subject, what string) error {
	return fmt.Errorf("%s of kubeconfig %s %s: the server isn't miniapi, or is an older version: give the kubeconfig of a miniapi server", subject, s.Name, what)
}

// Unreadable returns the error about a response that can't be decoded. The argument what is the text about the
// response, such as "isn't a trace".
func (s *Server) Unreadable(what string, err error) error {
	return s.Wrap(fmt.Errorf("the response %s: the server isn't miniapi, or is another version: %w", what, err))
}

// Answer sends a request, and returns the body of the response. It returns the error of the server unchanged.
func Answer(ctx context.Context, request *rest.Request) ([]byte, error) {
	response := request.Do(ctx)
	if err := response.Error(); err != nil { // Error has the server's message, and the error of Raw lacks the message
		return nil, err
	}
	return response.Raw()
}
