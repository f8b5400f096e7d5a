// Package checker checks that an extension keeps the protocol of hooks and the guidelines of the proposal: it discovers the
// extension and calls each of its handlers in good and in bad ways.
//
// The checks are a table, Checks. Run runs them against an extension at a URL, whatever it is written in, and returns a
// result for each. A test of an extension fails for the results that have an error:
//
//	for _, result := range checker.Run(ctx, target) {
//		if result.Err != nil {
//			t.Errorf("%s: %v", result.Check, result.Err)
//		}
//	}
//
// The package pkg/conformance/extension has the checks as a conformance suite, with reports. The handlers are called: don't check an extension whose handlers act on a production cluster.
package checker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/client"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/registry"
)

// Target is an extension to check.
type Target struct {
	// Catalog has the hooks of the extension.
	Catalog *catalog.Catalog
	// ClientConfig says where the extension is.
	ClientConfig runtimev1.ClientConfig
	// Connector reaches it. The default is an HTTPSConnector.
	Connector client.Connector
	// Requests are the requests for the handlers of hooks. Without one, a hook gets an empty request with its kind.
	Requests map[catalog.GroupVersionHook]hooksv1.RequestObject
}

// Check is one thing that an extension must do.
type Check struct {
	// ID is one word.
	ID string
	// Promise is the sentence that must be true, and Source the section of Cluster API's proposal that it is from.
	Promise, Source string
	// Reason says why callers rely on it.
	Reason string
	run    func(context.Context, *session) error
}

// Result is what a check has found.
type Result struct {
	// Check is the ID of the check.
	Check  string
	Reason string
	// Err is nil if the extension passes.
	Err error
}

// Run runs all checks. The end of ctx makes the rest of them fail.
func Run(ctx context.Context, target Target) []Result {
	var results []Result
	s, err := newSession(target)
	defer s.close()
	for _, check := range Checks() {
		result := Result{Check: check.ID, Reason: check.Reason, Err: err}
		if err == nil {
			result.Err = check.run(ctx, s)
		}
		results = append(results, result)
	}
	return results
}

// ErrNotDiscovered means that a check knows no handlers, because the discovery of the extension fails.
var ErrNotDiscovered = errors.New("the extension can't be discovered")

// Run runs one check alone, after a discovery of its own.
func (c Check) Run(ctx context.Context, target Target) error {
	s, err := newSession(target)
	defer s.close()
	if err != nil {
		return err
	}
	if err := checkDiscovery(ctx, s); err != nil && c.ID != Checks()[0].ID {
		return fmt.Errorf("%w: %w", ErrNotDiscovered, err)
	}
	return c.run(ctx, s)
}

// session has what checks need of a target.
type session struct {
	target    Target
	owned     *client.HTTPSConnector // nil if the target has a connector
	client    *client.Client
	registry  *registry.Registry
	config    *runtimev1.ExtensionConfig
	connected client.Connection
}

// close closes the connections of a session, which may be nil.
func (s *session) close() {
	if s != nil && s.owned != nil {
		s.owned.Close()
	}
}

func newSession(target Target) (*session, error) {
	if target.Catalog == nil {
		return nil, errors.New("a target needs a catalog")
	}
	s := &session{target: target, registry: registry.New(), config: &runtimev1.ExtensionConfig{}}
	s.config.Name = "checked"
	s.config.Spec.ClientConfig = target.ClientConfig
	if s.target.Connector == nil {
		connector, err := client.NewHTTPSConnector(client.ConnectorOptions{})
		if err != nil {
			return nil, err
		}
		s.target.Connector, s.owned = connector, connector
	}
	var err error
	if s.connected, err = s.target.Connector.Connect(target.ClientConfig); err != nil {
		return s, err
	}
	if s.client, err = client.New(client.Options{Catalog: target.Catalog, Registry: s.registry, Connector: s.target.Connector}); err != nil {
		return s, err
	}
	return s, s.registry.WarmUp(nil)
}

// handler is a handler that is checked.
type handler struct {
	*registry.Registration
	descriptor *catalog.Descriptor
}

// call calls a handler with the target's request. A Failure is an answer, and no error.
func (s *session) call(ctx context.Context, h handler) (hooksv1.ResponseObject, time.Duration, error) {
	response := h.descriptor.NewResponse().(hooksv1.ResponseObject)
	var took time.Duration
	var ignored error // the policy Ignore hides errors from callers, and not from checks
	err := s.client.CallExtension(ctx, h.descriptor.Func, &metav1.ObjectMeta{}, h.Name, s.request(h), response,
		client.WithObserver(func(o client.Outcome) {
			took, ignored = o.Duration, o.Ignored
		}))
	if ignored != nil {
		return nil, took, ignored
	}
	var failure *client.FailureError
	if errors.As(err, &failure) && failure.Status == hooksv1.ResponseStatusFailure {
		err = nil
	}
	return response, took, err
}

func (s *session) request(h handler) hooksv1.RequestObject {
	if request := s.target.Requests[h.Hook]; request != nil {
		return request
	}
	return h.descriptor.NewRequest().(hooksv1.RequestObject)
}

// send sends any body to a path of the extension.
func (s *session) send(ctx context.Context, method, target string, body []byte, timeout time.Duration) (code int, answer []byte, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	defer cancel()
	u := *s.connected.URL
	u.Path = path.Join("/", u.Path, target)
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.connected.HTTP.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, client.MaxBodyBytes))
	return resp.StatusCode, answer, err
}
