package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http takes no other logger
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/conformance/chain"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/conformance/webhook"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
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
	skip           map[string]string
}

// Configuration names files, globs or folders with the webhook configurations. The webhooks are sent requests for each of
// their rules, at the path of their clientConfig, and the configurations themselves are judged.
func Configuration(paths ...string) Option {
	return func(o *options) error {
		o.configurations = append(o.configurations, paths...)
		return nil
	}
}

// Objects names files, globs or folders with objects that the webhooks are sent. Without any, the objects are samples.
func Objects(paths ...string) Option {
	return func(o *options) error {
		o.objects = append(o.objects, paths...)
		return nil
	}
}

// Server passes options to the server that makes the requests, such as miniapitest.WithCRDs for custom resources.
func Server(opts ...miniapitest.Option) Option {
	return func(o *options) error {
		o.server = append(o.server, opts...)
		return nil
	}
}

// Path is where a handler without a Configuration is called. The default is "/".
func Path(at string) Option {
	return func(o *options) error {
		if !path.IsAbs(at) {
			return fmt.Errorf("path %q: must begin with /", at)
		}
		o.path = at
		return nil
	}
}

// Seed repeats the random objects of a run, whose log has its seed. The default differs from run to run.
func Seed(seed uint64) Option {
	return func(o *options) error {
		o.seed = seed
		return nil
	}
}

// Fuzzed is how many random objects are made for each resource: chain.DefaultFuzzed by default, none if negative.
func Fuzzed(n int) Option {
	return func(o *options) error {
		o.fuzzed = n
		return nil
	}
}

// Skip skips cases whose identifiers match a glob in the syntax of path.Match, for a reason.
func Skip(glob, reason string) Option {
	return func(o *options) error {
		if _, err := path.Match(glob, ""); err != nil || reason == "" {
			return errors.Join(err, fmt.Errorf("skip %q: needs a glob and a reason", glob))
		}
		o.skip[glob] = reason
		return nil
	}
}

// Webhook judges the handler of admission webhooks, a subtest for each case. Findings of the level error fail it; the log
// has the others. A server of miniapitest makes the requests, and judges the objects that the webhooks patch. The cases
// about certificates are left to "miniapi conformance webhook".
func Webhook(t *testing.T, handler http.Handler, opts ...Option) {
	t.Helper()
	o := &options{path: "/", seed: rand.Uint64(), skip: map[string]string{}}
	for _, opt := range opts {
		if err := opt(o); err != nil {
			t.Fatalf("conformance: %v", err)
		}
	}
	suite, err := o.suite(t, handler)
	if err != nil {
		t.Fatalf("conformance: %v", err)
	}
	t.Logf("conformance: %d requests; conformance.Seed(%d) repeats them", len(suite.Inputs), o.seed)
	for _, c := range webhook.Cases() {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			if reason := o.skipped(c.ID); reason != "" {
				t.Skip(reason)
			}
			judge(t, &c, suite)
		})
	}
}

// judge runs a case.
func judge(t *testing.T, c *webhook.Case, suite *webhook.Suite) {
	t.Helper()
	findings, err := c.Run(context.Background(), suite)
	var skipped webhook.Skipped
	if errors.As(err, &skipped) {
		t.Skip(string(skipped))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		message := fmt.Sprintf("%s (%s)\nsent: %s\nseen: %s\nadvice: %s", c.Promise, c.Source, f.Sent, f.Seen, f.Advice)
		if f.Level == webhook.LevelError {
			t.Error(message)
		} else {
			t.Logf("%s: %s", f.Level, message)
		}
	}
}

func (o *options) skipped(id string) string {
	for glob, reason := range o.skip {
		if matched, _ := path.Match(glob, id); matched { // Skip has refused a malformed glob
			return reason
		}
	}
	return ""
}

// suite serves the handler, and has a server make its requests.
func (o *options) suite(t *testing.T, handler http.Handler) (*webhook.Suite, error) {
	t.Helper()
	if handler == nil {
		return nil, errors.New("the handler is nil")
	}
	given, err := load(o.objects)
	if err != nil {
		return nil, fmt.Errorf("objects: %w", err)
	}
	served := httptest.NewUnstartedServer(handler)
	served.EnableHTTP2 = true
	served.Config.ErrorLog = log.New(io.Discard, "", 0) // the cases report the connections that a panic ends
	served.StartTLS()
	t.Cleanup(served.Close)
	at := func(path string) webhook.Endpoint {
		return webhook.Endpoint{URL: served.URL + path, Because: "the certificate is that of the test"}
	}
	hooks := []webhook.Hook{webhook.Unconfigured(at(o.path))}
	if len(o.configurations) > 0 {
		objects, err := load(o.configurations)
		if err != nil {
			return nil, fmt.Errorf("configuration: %w", err)
		}
		configurations, err := webhook.ReadConfigurations(objects)
		if err != nil {
			return nil, err
		}
		hooks, err = webhook.HooksOf(configurations, func(client admissionregistrationv1.WebhookClientConfig) (webhook.Endpoint, error) {
			path, err := webhook.Path(client)
			return at(path), err
		})
		if err != nil {
			return nil, err
		}
		if len(hooks) == 0 {
			return nil, fmt.Errorf("no webhook configuration in %q", o.configurations)
		}
	}
	server := miniapitest.Start(t, o.server...)
	c, err := chain.New(context.Background(), chain.Options{Config: server.Config(), Objects: given, Seed: o.seed, Fuzzed: o.fuzzed})
	if err != nil {
		return nil, err
	}
	suite := &webhook.Suite{Hooks: hooks, Judge: c}
	if suite.Inputs, suite.Uncovered, err = c.Inputs(context.Background(), hooks); err != nil {
		return nil, err
	}
	t.Cleanup(suite.Close)
	return suite, suite.Validate()
}

// load reads objects of files.
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
