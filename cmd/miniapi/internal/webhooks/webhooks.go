// Package webhooks reads the webhooks that "miniapi conformance webhook" judges: from files, from a cluster, or at a URL.
// It also makes the requests that the webhooks are sent. [Load] is the way in.
//
// Don't use the package to judge a handler in a Go test: the package pkg/miniapitest/webhooktest does that in one call.
package webhooks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cluster"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/trust"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests/kustomization"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/inputs"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
)

// Source names the webhooks to judge, and the objects for their requests.
type Source struct {
	// URL is the address of the webhook. If it has no path, each webhook of a configuration is called at its own path.
	URL string
	// Files have the configurations of the webhooks. Configuration is the name of a configuration in the cluster of
	// Kubeconfig instead. Without either, the webhook at the URL has no configuration.
	Files         []string
	Configuration string
	Kubeconfig    kubeconfig.Source
	// CA is a file with the authority of the webhooks' certificates, or "".
	CA string
	// Objects are paths of objects that the webhooks are sent. Apply are paths of manifests that are applied before the
	// requests.
	Objects, Apply []string
	// In is standard input, which the path - of Apply names.
	In io.Reader
}

// Webhooks are the webhooks to judge, and the input of their requests.
type Webhooks struct {
	// Applied are the objects to apply before the requests.
	Applied []manifests.Object

	hooks   []webhooksuite.Hook
	objects []*unstructured.Unstructured
	// cluster has the webhook configuration and the custom resource definitions that were read from a cluster. It is
	// nil without Source.Configuration.
	cluster *cluster.Found
}

// Load reads the files of a source, and a configuration of webhooks from the cluster if the source names one.
func Load(ctx context.Context, from Source) (*Webhooks, error) {
	w := &Webhooks{}
	var err error
	if w.Applied, err = kustomization.Load(ctx, manifests.Reader{}, from.Apply, from.In); err != nil {
		return nil, fmt.Errorf("--apply: %w", err)
	}
	if w.objects, err = loadAll(from.Objects); err != nil {
		return nil, fmt.Errorf("--objects: %w", err)
	}
	var roots *x509.CertPool
	if from.CA != "" {
		if roots, err = trust.Authorities(from.CA); err != nil {
			return nil, err
		}
	}
	at := places{url: from.URL, roots: roots}
	if len(from.Files) == 0 && from.Configuration == "" {
		w.hooks = []webhooksuite.Hook{webhooksuite.Unconfigured(webhooksuite.Endpoint{URL: from.URL, TLS: &tls.Config{RootCAs: roots}})}
		return w, nil
	}
	configurations, err := w.configurations(ctx, from, &at)
	if err != nil {
		return nil, err
	}
	if len(configurations) == 0 {
		return nil, fmt.Errorf("-f %q: the files must have a MutatingWebhookConfiguration or a ValidatingWebhookConfiguration", from.Files)
	}
	if w.hooks, err = webhooksuite.HooksOf(configurations, at.of); err == nil && len(w.hooks) == 0 {
		err = errors.New("the configuration of -f or --configuration has no webhooks: the field webhooks must have at least one")
	}
	return w, err
}

// configurations reads the configurations of webhooks from the files of -f. With --configuration, it reads the
// configuration of that name from the cluster, and the definitions of the custom resources in the rules of the
// configuration.
func (w *Webhooks) configurations(ctx context.Context, from Source, at *places) ([]*webhooksuite.Configuration, error) {
	if from.Configuration == "" {
		objects, err := loadAll(from.Files)
		if err != nil {
			return nil, fmt.Errorf("-f: %w", err)
		}
		return webhooksuite.ReadConfigurations(objects)
	}
	config, err := from.Kubeconfig.ClientConfig()
	if err != nil {
		return nil, err
	}
	found, err := cluster.Find(ctx, config, from.Configuration)
	if err != nil {
		return nil, from.Kubeconfig.Explained(err)
	}
	at.cluster, w.cluster = found, found
	for _, definition := range found.Definitions {
		w.Applied = append(w.Applied, manifests.Object{Unstructured: definition, Source: "the cluster"})
	}
	return found.Configurations, nil
}

func loadAll(paths []string) ([]*unstructured.Unstructured, error) {
	read, err := manifests.Load(paths...)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, object := range read {
		objects = append(objects, object.Unstructured)
	}
	return objects, nil
}

// places has the settings that decide at which address a webhook is called.
type places struct {
	url     string
	roots   *x509.CertPool
	cluster *cluster.Found
}

// of returns the address and the TLS settings for calls of a webhook.
func (p *places) of(client admissionregistrationv1.WebhookClientConfig) (webhooksuite.Endpoint, error) {
	path, err := webhooksuite.Path(client)
	if err != nil {
		return webhooksuite.Endpoint{URL: p.url}, nil //nolint:nilerr // the case config.clientConfig reports this error
	}
	config := &tls.Config{RootCAs: p.roots, ServerName: webhooksuite.ServiceName(client)}
	if p.roots == nil && len(client.CABundle) > 0 {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(client.CABundle)
	}
	switch {
	case p.url != "":
		u, err := url.Parse(p.url)
		if err != nil {
			return webhooksuite.Endpoint{}, err
		}
		if u.Path == "" || u.Path == "/" {
			u.Path = path
		}
		return webhooksuite.Endpoint{URL: u.String(), TLS: config}, nil
	case client.URL != nil:
		return webhooksuite.Endpoint{URL: *client.URL, TLS: config}, nil
	case p.cluster != nil:
		return p.cluster.Proxied(client.Service)
	}
	return webhooksuite.Endpoint{}, fmt.Errorf("the service %s/%s is in a cluster: give --url, the address at which the webhook is called", client.Service.Namespace, client.Service.Name)
}

// Reach returns an error if a webhook, or the service of a webhook, can't be called.
func (w *Webhooks) Reach(ctx context.Context) error {
	if err := (&webhooksuite.Suite{Hooks: w.hooks}).Reach(ctx); err != nil {
		return err
	}
	if w.cluster == nil {
		return nil
	}
	return w.cluster.Reach(ctx, w.hooks)
}

// Suite returns the suite that judges the webhooks, with its AdmissionReviews. The server of the argument config makes
// the AdmissionReviews. The argument fuzzed is the number of random objects for each resource, which the seed repeats.
// The caller must close the suite.
func (w *Webhooks) Suite(ctx context.Context, config *rest.Config, seed uint64, fuzzed int) (*webhooksuite.Suite, error) {
	if fuzzed == 0 {
		fuzzed = -1 // inputs.Options takes 0 for the default
	}
	c, err := inputs.New(ctx, inputs.Options{Config: config, Objects: w.objects, Seed: seed, Fuzzed: fuzzed})
	if err != nil {
		return nil, err
	}
	s := &webhooksuite.Suite{Hooks: w.hooks, Judge: c}
	if s.Inputs, s.Uncovered, err = c.Inputs(ctx, w.hooks); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Title returns the title of the reports: the name of the first judged webhook and, if there are others, their number.
func (w *Webhooks) Title() string {
	if len(w.hooks) == 1 {
		return w.hooks[0].Name
	}
	return fmt.Sprintf("%s and %d more", w.hooks[0].Name, len(w.hooks)-1)
}
