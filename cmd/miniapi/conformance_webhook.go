package main

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/suite"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/webhooks"
	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/inputs"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
)

// conformanceWebhookOptions are the flags of "miniapi conformance webhook".
type conformanceWebhookOptions struct {
	suite.Options
	source webhooks.Source
	seed   uint64
	fuzzed int
	// tokenIssuer and tokenKey are the issuer and the file with the key of the tokens that the webhook checks.
	tokenIssuer, tokenKey string
}

func newConformanceWebhookCommand() *cobra.Command {
	o := &conformanceWebhookOptions{}
	cmd := &cobra.Command{
		Use:   "webhook (--url URL | -f FILE | --configuration NAME) [flags]",
		Short: "Judge an admission webhook: its answers, its connections and its configuration",
		Long: `Judge an admission webhook: its answers, its connections and its configuration.

The webhook is sent AdmissionReviews as an API server sends them, bad ones, large ones, and many at once. A temporary
server makes them: for each rule of the configuration, with the objects of --objects, or with samples and
random objects. The same server judges the objects that the webhook patches.

The configuration is that of a file, or one in a cluster by its name. Without one, the webhook at --url is sent common
objects. With one, --url is where its webhooks are called instead. A webhook in a cluster that is named by a service is
called through the API server, unless --url is given.

The exit code is 0 if no case failed, 1 if a case failed, and 2 if the command line is wrong or the webhook can't be reached.
docs/conformance-cases.md has the cases.`,
		Example: `  # Judge a webhook on this machine, and its configuration
  miniapi conformance webhook -f config/webhook/manifests.yaml --url https://localhost:9443 --ca certs/ca.crt --apply config/crd

  # Judge a webhook in a cluster
  miniapi conformance webhook --kubeconfig ~/.kube/config --configuration my-webhooks

  # Judge the configuration alone
  miniapi conformance webhook -f config/webhook/manifests.yaml --url https://localhost:9443 --only 'config.*'`,
		Args: cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.source.In = cmd.InOrStdin()
			return o.runCommand(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.AddFlags(cmd, func(context.Context) []conformance.Case { return conformance.WebhookCases(nil) })
	o.source.Kubeconfig.AddFlags(cmd, cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&o.source.URL, "url", "", "`URL` of the webhook. If it has no path, each webhook of a configuration is called at its own.")
	flags.StringArrayVarP(&o.source.Files, "filename", "f", nil, "`FILE` with the webhook's configuration. May be repeated.")
	flags.StringVar(&o.source.Configuration, "configuration", "", "`NAME` of the webhook's configuration in the cluster of --kubeconfig.")
	flags.StringArrayVar(&o.source.Objects, "objects", nil, "`PATH` of objects that the webhook is sent, instead of samples. May be repeated.")
	flags.StringArrayVar(&o.source.Apply, "apply", nil, "Apply the manifests of this `PATH` before, such as definitions of custom resources: a file, a folder, a glob, a kustomization, or - for standard input. May be repeated.")
	flags.StringVar(&o.source.CA, "ca", "", "`FILE` with the authority of the webhook's certificate, in PEM. By default, the caBundle of the configuration, or else the system's authorities.")
	flags.Uint64Var(&o.seed, "seed", 0, "`SEED` of random objects. By default, another one for each run, which is printed.")
	flags.IntVar(&o.fuzzed, "random-objects", inputs.DefaultFuzzed, "Make `N` random objects for each resource.")
	flags.StringVar(&o.tokenIssuer, "token-issuer", "", "Issuer `URL` of the tokens that the webhook is presented, for a webhook that checks them. Needs --token-key.")
	flags.StringVar(&o.tokenKey, "token-key", "", "`FILE` with the private key that signs these tokens, in PEM: the --service-account-signing-key-file of an API server.")
	return cmd
}

// validate checks the values of the flags, and joins all errors that it finds.
func (o *conformanceWebhookOptions) validate() error {
	errs := []error{o.Options.Validate()}
	switch {
	case o.List:
	case o.source.URL == "" && len(o.source.Files) == 0 && o.source.Configuration == "":
		errs = append(errs, errors.New("give one of --url, -f and --configuration, which name the webhook to judge"))
	case len(o.source.Files) > 0 && o.source.Configuration != "":
		errs = append(errs, fmt.Errorf("-f %q and --configuration %q: give only one of them", o.source.Files, o.source.Configuration))
	}
	if u, err := url.Parse(o.source.URL); err != nil {
		errs = append(errs, fmt.Errorf("--url: %w", err))
	} else if o.source.URL != "" && (u.Scheme != "https" && u.Scheme != "http" || u.Host == "") {
		errs = append(errs, fmt.Errorf("--url %q: must be a URL such as https://localhost:9443/mutate", o.source.URL))
	}
	if (o.tokenIssuer == "") != (o.tokenKey == "") {
		errs = append(errs, fmt.Errorf("--token-issuer %q and --token-key %q: give both or none", o.tokenIssuer, o.tokenKey))
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
	if o.List {
		return o.PrintCases(out, conformance.WebhookCases(nil))
	}
	if err := o.Run.Selection.Check(conformance.WebhookCases(nil)); err != nil {
		return cli.UsageError{Err: err}
	}
	if o.seed == 0 {
		o.seed = rand.Uint64()
	}
	judged, err := webhooks.Load(ctx, o.source)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	if o.calls() {
		if err := judged.Reach(ctx); err != nil {
			return cli.UsageError{Err: err}
		}
	}
	return temporaryServer{objects: judged.Applied}.do(ctx, progress, func(ctx context.Context, config *rest.Config) error {
		return o.judge(ctx, config, judged, out, progress)
	})
}

// tokens returns the tokens of the flags, or nil.
func (o *conformanceWebhookOptions) tokens() (*webhooksuite.Tokens, error) {
	if o.tokenKey == "" {
		return nil, nil
	}
	key, err := keyutil.PrivateKeyFromFile(o.tokenKey)
	if err != nil {
		return nil, fmt.Errorf("--token-key %s: %w", o.tokenKey, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("--token-key %s: a key of the type %T can't sign", o.tokenKey, key)
	}
	return &webhooksuite.Tokens{Issuer: o.tokenIssuer, Key: signer}, nil
}

// calls returns whether a selected case calls the webhook. The cases config.* only read the webhook's configuration.
func (o *conformanceWebhookOptions) calls() bool {
	return slices.ContainsFunc(o.Run.Selection.Of(conformance.WebhookCases(nil)), func(c conformance.Case) bool {
		return !strings.HasPrefix(c.ID, "config.")
	})
}

// judge runs the cases of the suite. The server of the argument config makes the AdmissionReviews that the cases send,
// and validates the objects that the webhooks patch.
func (o *conformanceWebhookOptions) judge(ctx context.Context, config *rest.Config, judged *webhooks.Webhooks, out, progress io.Writer) error {
	s, err := judged.Suite(ctx, config, o.seed, o.fuzzed)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.Tokens, err = o.tokens(); err != nil {
		return cli.UsageError{Err: err}
	}
	if err := s.Validate(); err != nil {
		return cli.UsageError{Err: err}
	}
	fmt.Fprintf(progress, "%d requests for %d webhooks; --seed %d repeats them\n", len(s.Inputs), len(s.Hooks), o.seed)
	for _, uncovered := range s.Uncovered {
		fmt.Fprintln(progress, "warning:", uncovered)
	}
	err = o.Judge(ctx, fmt.Sprintf("admission webhook %s, seed %d", judged.Title(), o.seed), conformance.WebhookCases(s), out, progress)
	if calls, at := s.Latency(0.5, 0.9, 0.99, 1); calls > 0 {
		fmt.Fprintf(progress, "%d calls: p50 %v, p90 %v, p99 %v, the longest %v\n", calls,
			at[0].Round(10*time.Microsecond), at[1].Round(10*time.Microsecond), at[2].Round(10*time.Microsecond), at[3].Round(10*time.Microsecond))
	}
	return err
}
