package kubeconfig

import (
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Server is a running server that a kubeconfig names.
type Server struct {
	// Name is the path of the kubeconfig, and Host the server's address in it.
	Name, Host string
	// Namespace is that of the current context.
	Namespace string
	Client    rest.Interface
}

// Server reads the kubeconfig, as ClientConfig does.
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

// Asking adds to an error of a request which server was asked.
func (s *Server) Asking(err error) error {
	return fmt.Errorf("asking %s of kubeconfig %s: %w", s.Host, s.Name, err)
}
