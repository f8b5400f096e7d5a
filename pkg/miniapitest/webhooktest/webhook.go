package webhooktest

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http accepts no other type of logger
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/inputs"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
)

// Option is an option of Webhook.
type Option func(*options) error

type options struct {
	configurations []string
	objects        []string
	server         []miniapitest.Option
	path           string
	seed           uint64
	fuzzed         int
	tokens         *webhooksuite.Tokens
	skip           map[string]string
}

// Configuration names files, globs or folders with webhook configurations. For each rule of a configuration, Webhook
// sends requests to the handler, at the path of the clientConfig. Cases also check the configurations themselves.
func Configuration(paths ...string) Option {
	return func(o *options) error {
		o.configurations = append(o.configurations, paths...)
		return nil
	}
}

// Objects names files, globs or folders with objects for the requests. For a resource without an object, Webhook uses a
// sample object or a random one.
func Objects(paths ...string) Option {
	return func(o *options) error {
		o.objects = append(o.objects, paths...)
		return nil
	}
}

// Server passes options to the server that makes the requests. With miniapitest.WithCRDs, the server has custom
// resources.
func Server(opts ...miniapitest.Option) Option {
	return func(o *options) error {
		o.server = append(o.server, opts...)
		return nil
	}
}

// Path is the URL path for a handler without a Configuration. The default is "/".
func Path(at string) Option {
	return func(o *options) error {
		if !path.IsAbs(at) {
			return fmt.Errorf("Path(%q): must begin with /", at)
		}
		o.path = at
		return nil
	}
}

// Seed sets the seed of the random objects. The log of each run shows its seed, and a run with the same seed makes
// the same objects. By default, each run has another seed.
func Seed(seed uint64) Option {
	return func(o *options) error {
		o.seed = seed
		return nil
	}
}

// Fuzzed is the number of random objects for each resource. The default is inputs.DefaultFuzzed; a negative number
// stands for none.
func Fuzzed(n int) Option {
	return func(o *options) error {
		o.fuzzed = n
		return nil
	}
}

// Tokens presents tokens to the handler with each request, as an API server does that authenticates itself to webhooks
// (KEP-6060). The handler must trust the issuer, and the key that belongs to the argument key: an RSA key, or an ECDSA key
// of the curve P-256. The cases token.* check that the handler refuses other tokens. They are skipped without this option.
func Tokens(issuer string, key crypto.Signer) Option {
	return func(o *options) error {
		o.tokens = &webhooksuite.Tokens{Issuer: issuer, Key: key}
		return nil
	}
}

// Skip skips the cases whose identifiers match a glob in the syntax of path.Match. At least one case must match. The
// reason appears in the test's log.
func Skip(glob, reason string) Option {
	return func(o *options) error {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("Skip(%q, %q): must have a well-formed glob, such as patch.*: %w", glob, reason, err)
		}
		if reason == "" {
			return fmt.Errorf("Skip(%q, %q): must have a reason", glob, reason)
		}
		if !slices.ContainsFunc(webhooksuite.Cases(), func(c webhooksuite.Case) bool {
			matched, _ := path.Match(glob, c.ID) // the glob is well-formed
			return matched
		}) {
			return fmt.Errorf("Skip(%q, %q): no case has such an identifier: \"miniapi conformance webhook --list\" prints the identifiers", glob, reason)
		}
		o.skip[glob] = reason
		return nil
	}
}

// Handler checks the handler of admission webhooks, by a subtest for each case. A subtest fails for findings of the
// level error, and logs findings of other levels. A server of miniapitest makes the AdmissionReviews, and checks the
// objects that the webhooks patch. The cases about certificates need "miniapi conformance webhook", because a handler
// has no certificate.
func Handler(t *testing.T, handler http.Handler, opts ...Option) {
	t.Helper()
	o := &options{path: "/", seed: rand.Uint64(), skip: map[string]string{}}
	for _, opt := range opts {
		if err := opt(o); err != nil {
			t.Fatalf("webhooktest: %v", err)
		}
	}
	suite, err := o.suite(t, handler)
	if err != nil {
		t.Fatalf("webhooktest: %v", err)
	}
	t.Logf("webhooktest: %d requests; webhooktest.Seed(%d) repeats them", len(suite.Inputs), o.seed)
	for _, c := range webhooksuite.Cases() {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			if reason := o.skipped(c.ID); reason != "" {
				t.Skip(reason)
			}
			judge(t, &c, suite)
		})
	}
}

// judge runs a case in its subtest.
func judge(t *testing.T, c *webhooksuite.Case, suite *webhooksuite.Suite) {
	t.Helper()
	findings, err := c.Run(context.Background(), suite)
	var skipped webhooksuite.Skipped
	if errors.As(err, &skipped) {
		t.Skip(string(skipped))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		message := fmt.Sprintf("%s (%s)\nsent: %s\nseen: %s\nadvice: %s", c.Promise, c.Source, f.Sent, f.Seen, f.Advice)
		if f.Level == webhooksuite.LevelError {
			t.Error(message)
		} else {
			t.Logf("%s: %s", f.Level, message)
		}
	}
}

func (o *options) skipped(id string) string {
	for glob, reason := range o.skip {
		if matched, _ := path.Match(glob, id); matched { // Skip has already refused a malformed glob
			return reason
		}
	}
	return ""
}

// suite starts a server for the handler, and an API server that makes the AdmissionReviews. It returns the suite with
// these reviews.
func (o *options) suite(t *testing.T, handler http.Handler) (*webhooksuite.Suite, error) {
	t.Helper()
	if handler == nil {
		return nil, errors.New("the handler of the webhook is nil: give an http.Handler")
	}
	given, err := load(o.objects)
	if err != nil {
		return nil, fmt.Errorf("Objects: %w", err)
	}
	served := httptest.NewUnstartedServer(handler)
	served.EnableHTTP2 = true
	served.Config.ErrorLog = log.New(io.Discard, "", 0) // a case reports a panic of the handler, so the log needn't
	served.StartTLS()
	t.Cleanup(served.Close)
	at := func(path string) webhooksuite.Endpoint {
		return webhooksuite.Endpoint{URL: served.URL + path, Because: "the certificate is that of the test"}
	}
	hooks := []webhooksuite.Hook{webhooksuite.Unconfigured(at(o.path))}
	if len(o.configurations) > 0 {
		objects, err := load(o.configurations)
		if err != nil {
			return nil, fmt.Errorf("Configuration: %w", err)
		}
		configurations, err := webhooksuite.ReadConfigurations(objects)
		if err != nil {
			return nil, err
		}
		hooks, err = webhooksuite.HooksOf(configurations, func(client admissionregistrationv1.WebhookClientConfig) (webhooksuite.Endpoint, error) {
			path, err := webhooksuite.Path(client)
			return at(path), err
		})
		if err != nil {
			return nil, err
		}
		if len(hooks) == 0 {
			return nil, fmt.Errorf("Configuration(%q): the files must have a MutatingWebhookConfiguration or a ValidatingWebhookConfiguration with at least one webhook", o.configurations)
		}
	}
	server := miniapitest.Start(t, o.server...)
	c, err := inputs.New(context.Background(), inputs.Options{Config: server.Config(), Objects: given, Seed: o.seed, Fuzzed: o.fuzzed})
	if err != nil {
		return nil, err
	}
	suite := &webhooksuite.Suite{Hooks: hooks, Judge: c, Tokens: o.tokens}
	if suite.Inputs, suite.Uncovered, err = c.Inputs(context.Background(), hooks); err != nil {
		return nil, err
	}
	t.Cleanup(suite.Close)
	if err := suite.Validate(); err != nil {
		return nil, err
	}
	return suite, suite.Reach(context.Background())
}

func load(paths []string) ([]*unstructured.Unstructured, error) {
	objects, err := manifests.Load(paths...)
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, object := range objects {
		all = append(all, object.Unstructured)
	}
	return all, nil
}
