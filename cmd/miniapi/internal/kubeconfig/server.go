package kubeconfig

import (
	"fmt"

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

// Wrap adds the address of the server and the path of the kubeconfig to an error.
func (s *Server) Wrap(err error) error {
	return fmt.Errorf("request to %s of kubeconfig %s: %w", s.Host, s.Name, err)
}
