package trial

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/incluster"
	"github.com/miniapi-dev/miniapi/pkg/conformance/webhookserver"
)

// Listen makes the webhooks of cases reachable for the server: at a URL, or through a Service in the cluster.
func (s *Server) Listen(ctx context.Context) error {
	if s.options.WebhookImage != "" && s.options.WebhookAddress != "" {
		return fmt.Errorf("--webhook-image %q and --webhook-address %q: give one of them, because with --webhook-image the server calls the webhooks at a Service in the cluster", s.options.WebhookImage, s.options.WebhookAddress)
	}
	var err error
	if s.hooks, err = webhookserver.Start(webhookserver.Options{Address: s.options.WebhookAddress, Wrap: s.options.WrapWebhooks}); err != nil {
		return err
	}
	if s.options.WebhookImage == "" {
		return nil
	}
	if err := s.hooks.Certify(incluster.Host(s.clusterNamespace())); err != nil {
		return err
	}
	s.inCluster, err = incluster.Start(ctx, incluster.Options{
		Config: s.options.Config, Image: s.options.WebhookImage, Namespace: s.clusterNamespace(),
		Labels: map[string]string{LabelRun: s.run},
		Target: s.hooks.Local().String(), Timeout: s.options.WebhookTimeout,
	})
	return err
}

// stopListening stops the listener, and closes the link to the cluster if Listen has opened one.
func (s *Server) stopListening() error {
	if s.inCluster != nil {
		s.inCluster.Close()
	}
	if s.hooks == nil {
		return nil
	}
	if err := s.hooks.Close(); err != nil {
		return fmt.Errorf("stop the listener of webhooks at %s: %w", s.hooks.Address(), err)
	}
	return nil
}

// clusterNamespace returns the namespace of the objects that Listen creates in the cluster.
func (s *Server) clusterNamespace() string { return Prefix + s.run + "-webhooks" }

// clientConfig returns a client configuration with which the server calls a path of the listener.
func (s *Server) clientConfig(path string) admissionregistrationv1.WebhookClientConfig {
	client := admissionregistrationv1.WebhookClientConfig{CABundle: s.hooks.CABundle()}
	if s.inCluster != nil {
		client.Service = s.inCluster.Reference(path)
		return client
	}
	url := s.hooks.URL(path)
	client.URL = &url
	return client
}
