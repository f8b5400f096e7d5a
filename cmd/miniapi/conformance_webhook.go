package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cluster"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/disposable"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/trust"
	"github.com/miniapi-dev/miniapi/pkg/conformance"
	suite "github.com/miniapi-dev/miniapi/pkg/conformance/webhook"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/conformance/inputs"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/conformance/webhook"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
)

// conformanceWebhookOptions are the flags of "miniapi conformance webhook".
type conformanceWebhookOptions struct {
	conformanceOptions
	kubeconfig kubeconfig.Source
	url        string
	files      []string
	name       string
	objects    []string
	apply      []string
	ca         string
	seed       uint64
	fuzzed     int
}

func newConformanceWebhookCommand() *cobra.Command {
	o := &conformanceWebhookOptions{}
	cmd := &cobra.Command{
		Use:   "webhook (--url URL | -f FILE | --configuration NAME) [flags]",
		Short: "Judge an admission webhook: its answers, its connections and its configuration",
		Long: `Judge an admission webhook: its answers, its connections and its configuration.

The webhook is sent AdmissionReviews as an API server sends them, bad ones, large ones, and many at once. A server that
runs for that alone makes them: for each rule of the configuration, with the objects of --objects, or with samples and
random objects. The same server judges the objects that the webhook patches.

The configuration is that of a file, or one in a cluster by its name. Without one, the webhook at --url is sent common
objects. With one, --url is where its webhooks are called instead. A webhook in a cluster that is named by a service is
called through the API server, unless --url is given.

The exit code is 0 if no case failed, 1 if a case failed, and 2 if the command line is wrong or the webhook can't be reached.
docs/conformance.md has the cases.`,
		Example: `  # Judge a webhook on this machine, and its configuration
  miniapi conformance webhook -f config/webhook/manifests.yaml --url https://localhost:9443 --ca certs/ca.crt --apply config/crd

  # Judge a webhook in a cluster
  miniapi conformance webhook --kubeconfig ~/.kube/config --configuration my-webhooks

  # Judge the configuration alone
  miniapi conformance webhook -f config/webhook/manifests.yaml --url https://localhost:9443 --only 'config.*'`,
		Args: cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.runCommand(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.addFlags(cmd)
	o.kubeconfig.AddFlag(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&o.url, "url", "", "`URL` of the webhook. If it has no path, each webhook of a configuration is called at its own.")
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "`File` with the webhook's configuration. May be repeated.")
	flags.StringVar(&o.name, "configuration", "", "`Name` of the webhook's configuration in the cluster of --kubeconfig.")
	flags.StringArrayVar(&o.objects, "objects", nil, "`Path` of objects that the webhook is sent, instead of samples. May be repeated.")
	flags.StringArrayVar(&o.apply, "apply", nil, "Apply the manifests of this `path` before, such as definitions of custom resources. May be repeated.")
	flags.StringVar(&o.ca, "ca", "", "`File` with the authority of the webhook's certificate, in PEM. By default, the caBundle of the configuration, or else the system's authorities.")
	flags.Uint64Var(&o.seed, "seed", 0, "Seed of random objects. By default, another one for each run, which is printed.")
	flags.IntVar(&o.fuzzed, "random-objects", inputs.DefaultFuzzed, "How many random objects are made for each resource.")
	return cmd
}

// validate checks the values of the flags, and joins all errors that it finds.
func (o *conformanceWebhookOptions) validate() error {
	errs := []error{o.conformanceOptions.validate()}
	switch {
	case o.list:
	case o.url == "" && len(o.files) == 0 && o.name == "":
		errs = append(errs, errors.New("give one of --url, -f and --configuration, which name the webhook to judge"))
	case len(o.files) > 0 && o.name != "":
		errs = append(errs, fmt.Errorf("-f %q and --configuration %q: give only one of them", o.files, o.name))
	}
	if u, err := url.Parse(o.url); err != nil {
		errs = append(errs, fmt.Errorf("--url: %w", err))
	} else if o.url != "" && (u.Scheme != "https" && u.Scheme != "http" || u.Host == "") {
		errs = append(errs, fmt.Errorf("--url %q: must be a URL such as https://localhost:9443/mutate", o.url))
	}
	if o.fuzzed < 0 {
		errs = append(errs, fmt.Errorf("--random-objects %d: must be 0 or more", o.fuzzed))
	}
	return errors.Join(errs...)
}

func (o *conformanceWebhookOptions) runCommand(ctx context.Context, out, progress io.Writer) error {
	if err := o.validate(); err != nil {
		return cli.UsageError{Err: err}
	}
	if o.list {
		return o.listCases(out, suite.Cases(nil))
	}
	if err := o.run.Selection.Check(suite.Cases(nil)); err != nil {
		return cli.UsageError{Err: err}
	}
	if o.seed == 0 {
		o.seed = rand.Uint64()
	}
	given, err := o.load(ctx)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	if o.calls() {
		if err := (&webhook.Suite{Hooks: given.hooks}).Reach(ctx); err != nil {
			return cli.UsageError{Err: err}
		}
		if given.cluster != nil {
			if err := given.cluster.Reach(ctx, given.hooks); err != nil {
				return cli.UsageError{Err: err}
			}
		}
	}
	return disposable.Server{Objects: given.applied}.Do(ctx, progress, func(ctx context.Context, config *rest.Config) error {
		return o.judgeAll(ctx, config, given, out, progress)
	})
}

// calls returns whether a selected case calls the webhook. The cases config.* only read the webhook's configuration.
func (o *conformanceWebhookOptions) calls() bool {
	return slices.ContainsFunc(o.run.Selection.Of(suite.Cases(nil)), func(c conformance.Case) bool {
		return !strings.HasPrefix(c.ID, "config.")
	})
}

// given is the input that the flags name: webhooks to judge, objects for the requests to the webhooks, and objects to
// apply before these requests.
type given struct {
	hooks   []webhook.Hook
	objects []*unstructured.Unstructured
	applied []manifests.Object
	// cluster has the webhook configuration and the custom resource definitions that were read from a cluster. It is
	// nil without --configuration.
	cluster *cluster.Found
}

// load reads the files of the flags, and a configuration of webhooks from the cluster if a flag names one.
func (o *conformanceWebhookOptions) load(ctx context.Context) (*given, error) {
	g := &given{}
	var err error
	if g.applied, err = manifests.Load(o.apply...); err != nil {
		return nil, fmt.Errorf("--apply: %w", err)
	}
	if g.objects, err = loadAll(o.objects); err != nil {
		return nil, fmt.Errorf("--objects: %w", err)
	}
	var roots *x509.CertPool
	if o.ca != "" {
		if roots, err = trust.Authorities(o.ca); err != nil {
			return nil, err
		}
	}
	at := places{url: o.url, roots: roots}
	if len(o.files) == 0 && o.name == "" {
		g.hooks = []webhook.Hook{webhook.Unconfigured(webhook.Endpoint{URL: o.url, TLS: &tls.Config{RootCAs: roots}})}
		return g, nil
	}
	configurations, err := o.configurations(ctx, g, &at)
	if err != nil {
		return nil, err
	}
	if len(configurations) == 0 {
		return nil, fmt.Errorf("-f %q: the files must have a MutatingWebhookConfiguration or a ValidatingWebhookConfiguration", o.files)
	}
	g.hooks, err = webhook.HooksOf(configurations, at.of)
	return g, err
}

// configurations reads the configurations of webhooks from the files of -f. With --configuration, it reads the
// configuration of that name from the cluster, and the definitions of the custom resources in the rules of the
// configuration.
func (o *conformanceWebhookOptions) configurations(ctx context.Context, g *given, at *places) ([]*webhook.Configuration, error) {
	if o.name == "" {
		objects, err := loadAll(o.files)
		if err != nil {
			return nil, fmt.Errorf("-f: %w", err)
		}
		return webhook.ReadConfigurations(objects)
	}
	config, err := o.kubeconfig.ClientConfig()
	if err != nil {
		return nil, err
	}
	found, err := cluster.Find(ctx, config, o.name)
	if err != nil {
		return nil, o.kubeconfig.Explained(err)
	}
	at.cluster, g.cluster = found, found
	for _, definition := range found.Definitions {
		g.applied = append(g.applied, manifests.Object{Unstructured: definition, Source: "the cluster"})
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
func (p *places) of(client admissionregistrationv1.WebhookClientConfig) (webhook.Endpoint, error) {
	path, err := webhook.Path(client)
	if err != nil {
		return webhook.Endpoint{URL: p.url}, nil //nolint:nilerr // the case config.clientConfig reports this error
	}
	config := &tls.Config{RootCAs: p.roots, ServerName: webhook.ServiceName(client)}
	if p.roots == nil && len(client.CABundle) > 0 {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(client.CABundle)
	}
	switch {
	case p.url != "":
		u, err := url.Parse(p.url)
		if err != nil {
			return webhook.Endpoint{}, err
		}
		if u.Path == "" || u.Path == "/" {
			u.Path = path
		}
		return webhook.Endpoint{URL: u.String(), TLS: config}, nil
	case client.URL != nil:
		return webhook.Endpoint{URL: *client.URL, TLS: config}, nil
	case p.cluster != nil:
		return p.cluster.Proxied(client.Service)
	}
	return webhook.Endpoint{}, fmt.Errorf("the service %s/%s is in a cluster: give --url, the address at which the webhook is called", client.Service.Namespace, client.Service.Name)
}

// judgeAll runs the cases of the suite. The server of the argument config makes the requests to the webhooks.
func (o *conformanceWebhookOptions) judgeAll(ctx context.Context, config *rest.Config, g *given, out, progress io.Writer) error {
	fuzzed := o.fuzzed
	if fuzzed == 0 {
		fuzzed = -1
	}
	c, err := inputs.New(ctx, inputs.Options{Config: config, Objects: g.objects, Seed: o.seed, Fuzzed: fuzzed})
	if err != nil {
		return err
	}
	s := &webhook.Suite{Hooks: g.hooks, Judge: c}
	defer s.Close()
	if s.Inputs, s.Uncovered, err = c.Inputs(ctx, g.hooks); err != nil {
		return err
	}
	if err := s.Validate(); err != nil {
		return cli.UsageError{Err: err}
	}
	fmt.Fprintf(progress, "%d requests for %d webhooks; --seed %d repeats them\n", len(s.Inputs), len(s.Hooks), o.seed)
	for _, uncovered := range s.Uncovered {
		fmt.Fprintln(progress, "warning:", uncovered)
	}
	err = o.judge(ctx, fmt.Sprintf("admission webhook %s, seed %d", g.title(), o.seed), suite.Cases(s), out, progress)
	if calls, at := s.Latency(0.5, 0.9, 0.99, 1); calls > 0 {
		fmt.Fprintf(progress, "%d calls: p50 %v, p90 %v, p99 %v, the longest %v\n", calls,
			at[0].Round(10*time.Microsecond), at[1].Round(10*time.Microsecond), at[2].Round(10*time.Microsecond), at[3].Round(10*time.Microsecond))
	}
	return err
}

// title returns the title of the reports: the name of the first judged webhook and, if there are others, their number.
func (g *given) title() string {
	if len(g.hooks) == 1 {
		return g.hooks[0].Name
	}
	return fmt.Sprintf("%s and %d more", g.hooks[0].Name, len(g.hooks)-1)
}
