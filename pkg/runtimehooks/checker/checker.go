// Package checker checks that an extension follows the protocol of hooks, and the guidelines of the Cluster API
// proposal "Runtime SDK". It calls Discovery, and then each handler with valid and with invalid requests.
//
// The function Checks returns all checks. Run runs them against an extension at a URL, in any programming language,
// and returns a result for each check. A test of an extension fails for the results that have an error:
//
//	for _, result := range checker.Run(ctx, target) {
//		if result.Err != nil {
//			t.Errorf("%s: %v", result.Check, result.Err)
//		}
//	}
//
// The package pkg/conformance/extension runs the checks as a conformance suite, with reports.
//
// Don't check an extension that acts on a production cluster, because the checks call its handlers.
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
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookregistry"
)

// Target is an extension to check.
type Target struct {
	// Catalog has the hooks of the extension.
	Catalog *catalog.Catalog
	// ClientConfig says how to reach the extension.
	ClientConfig runtimev1.ClientConfig
	// Connector connects to the extension. The default is an HTTPSConnector.
	Connector hookclient.Connector
	// Requests are the requests with which handlers are called, by hook. The handlers of a hook that isn't in the
	// map get an empty request.
	Requests map[catalog.GroupVersionHook]hooksv1.RequestObject
}

// Check is one check of an extension.
type Check struct {
	// ID is a short name of the check, in one word.
	ID string
	// Promise is the sentence that must be true of the extension. Source is the section of the Cluster API proposal
	// that contains the promise.
	Promise, Source string
	// Reason says why callers need the promise.
	Reason string
	run    func(context.Context, *session) error
}

// Result says whether an extension has passed a check.
type Result struct {
	// Check is the ID of the check.
	Check  string
	Reason string
	// Err is nil if the extension has passed the check.
	Err error
}

// Run runs all checks, of which the first calls Discovery. If Discovery fails, the errors of the other checks wrap
// ErrNotDiscovered. If ctx ends, the remaining calls to the extension fail.
func Run(ctx context.Context, target Target) []Result {
	var results []Result
	s, err := newSession(target)
	defer s.close()
	for i, check := range Checks() {
		result := Result{Check: check.ID, Reason: check.Reason, Err: err}
		if err == nil {
			result.Err = check.run(ctx, s)
		}
		if i == 0 && err == nil && result.Err != nil {
			err = fmt.Errorf("%w: %w", ErrNotDiscovered, result.Err)
		}
		results = append(results, result)
	}
	return results
}

// ErrNotDiscovered is the error of a check that can't run, because the call of Discovery fails or its answer is
// invalid.
var ErrNotDiscovered = errors.New("the extension can't be discovered")

// Run runs this check alone. It calls Discovery first. If Discovery fails, the error of any check except "discovery"
// wraps ErrNotDiscovered.
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

// session has a connection to the target, and the target's handlers.
type session struct {
	target    Target
	owned     *hookclient.HTTPSConnector // the connector that the session must close; nil if the target has one
	client    *hookclient.Client
	registry  *hookregistry.Registry
	config    *runtimev1.ExtensionConfig
	connected hookclient.Connection
}

// close closes the connections of the session. The session may be nil.
func (s *session) close() {
	if s != nil && s.owned != nil {
		s.owned.Close()
	}
}

func newSession(target Target) (*session, error) {
	if target.Catalog == nil {
		return nil, errors.New("Target.Catalog must be the catalog with the hooks of the extension, and is nil")
	}
	s := &session{target: target, registry: hookregistry.New(), config: &runtimev1.ExtensionConfig{}}
	s.config.Name = "checked"
	s.config.Spec.ClientConfig = target.ClientConfig
	if s.target.Connector == nil {
		connector, err := hookclient.NewHTTPSConnector(hookclient.ConnectorOptions{})
		if err != nil {
			return nil, err
		}
		s.target.Connector, s.owned = connector, connector
	}
	var err error
	if s.connected, err = s.target.Connector.Connect(target.ClientConfig); err != nil {
		return s, err
	}
	if s.client, err = hookclient.New(hookclient.Options{Catalog: target.Catalog, Registry: s.registry, Connector: s.target.Connector}); err != nil {
		return s, err
	}
	return s, s.registry.WarmUp(nil)
}

// handler is a handler of the checked extension, with the descriptor of its hook.
type handler struct {
	*hookregistry.Registration
	descriptor *catalog.Descriptor
}

// call calls a handler with the request that Target.Requests has for its hook, or with an empty request. A response
// with the status Failure isn't an error.
func (s *session) call(ctx context.Context, h handler) (hooksv1.ResponseObject, time.Duration, error) {
	response := h.descriptor.NewResponse().(hooksv1.ResponseObject)
	var took time.Duration
	var ignored error // the client hides errors under the failure policy Ignore, but a check must see them
	err := s.client.CallExtension(ctx, h.descriptor.Func, &metav1.ObjectMeta{}, h.Name, s.request(h), response,
		hookclient.WithObserver(func(o hookclient.Outcome) {
			took, ignored = o.Duration, o.Ignored
		}))
	if ignored != nil {
		return nil, took, ignored
	}
	var failure *hookclient.FailureError
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

// send sends a body to a path of the extension. The body may be anything.
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
	answer, err = io.ReadAll(io.LimitReader(resp.Body, hookclient.MaxBodyBytes))
	return resp.StatusCode, answer, err
}
