package checker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/checker"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extension"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
)

const variablesPath = "/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovervariables/v"

func newCatalog(t *testing.T) *catalog.Catalog {
	t.Helper()
	c := catalog.New()
	if err := clusterapi.AddToCatalog(c); err != nil {
		t.Fatal(err)
	}
	return c
}

// good returns an extension that passes all checks. It has a handler "v".
func good(t *testing.T, options ...extension.HandlerOption) http.Handler {
	t.Helper()
	return with(t, func(_ context.Context, _ *clusterapi.DiscoverVariablesRequest, r *clusterapi.DiscoverVariablesResponse) {
		r.Status = hooksv1.ResponseStatusSuccess
	}, options...)
}

func with(t *testing.T, handle func(context.Context, *clusterapi.DiscoverVariablesRequest, *clusterapi.DiscoverVariablesResponse), options ...extension.HandlerOption) http.Handler {
	t.Helper()
	e, err := extension.New(extension.Options{Catalog: newCatalog(t)}, extension.Of(clusterapi.DiscoverVariables, "v", handle, options...))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// instead returns a handler that calls the function "answer" for requests with the method and with a path that begins
// with the argument "path". It passes all other requests to next.
func instead(next http.Handler, method, path string, answer http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == method && strings.HasPrefix(req.URL.Path, path) {
			answer(w, req)
			return
		}
		next.ServeHTTP(w, req)
	})
}

func succeed(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"status":"Success"}`) }

// TestChecks breaks an extension in each way that a check looks for. The check must fail, and all checks that don't
// look for this mistake must pass.
func TestChecks(t *testing.T) {
	t.Parallel()
	var calls, discoveries, answers atomic.Int32
	for _, test := range []struct {
		name, reason string
		extension    http.Handler
		want         []string // the IDs of the checks that fail
		err          string
	}{
		{name: "good", reason: "an extension of package extension passes", extension: good(t)},
		{name: "failure", reason: "a Failure is an answer", extension: with(t, func(_ context.Context, _ *clusterapi.DiscoverVariablesRequest, r *clusterapi.DiscoverVariablesResponse) {
			r.Status, r.Message = hooksv1.ResponseStatusFailure, "no"
		})},
		{
			name: "discovery differs", reason: "each answer to Discovery must list the same handlers",
			want: []string{"sameDiscovery"}, err: "must list the same handlers",
			extension: instead(good(t), http.MethodPost, "/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovery", func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"status":"Success","handlers":[{"name":"v","timeoutSeconds":%d,"requestHook":{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","hook":"DiscoverVariables"}}]}`, min(discoveries.Add(1), 2))
			}),
		},
		{
			name: "second call fails", reason: "the handler doesn't expect to be called again",
			want: []string{"idempotence", "determinism"}, err: "the first call succeeds",
			extension: with(t, func(_ context.Context, r *clusterapi.DiscoverVariablesRequest, response *clusterapi.DiscoverVariablesResponse) {
				response.Status = hooksv1.ResponseStatusSuccess
				if n := calls.Add(1); n%2 == 0 { // of the two calls of idempotence and of determinism, the second fails
					response.Status = hooksv1.ResponseStatusFailure
				}
			}),
		},
		{
			name: "random", reason: "the handler counts its calls", want: []string{"determinism"}, err: "and",
			extension: with(t, func(_ context.Context, _ *clusterapi.DiscoverVariablesRequest, r *clusterapi.DiscoverVariablesResponse) {
				r.Status, r.Message = hooksv1.ResponseStatusSuccess, fmt.Sprint(answers.Add(1))
			}),
		},
		{
			name: "slow", reason: "the answer takes most of the timeout", want: []string{"latency"},
			err: "must take at most half of the timeout of 1s",
			extension: with(t, func(ctx context.Context, _ *clusterapi.DiscoverVariablesRequest, r *clusterapi.DiscoverVariablesResponse) {
				timer := time.NewTimer(600 * time.Millisecond)
				defer timer.Stop()
				select {
				case <-timer.C:
				case <-ctx.Done():
				}
				r.Status = hooksv1.ResponseStatusSuccess
			}, extension.Timeout(time.Second)),
		},
		{
			name: "takes anything", reason: "the handler doesn't read its request", want: []string{"badInput"},
			err:       `the answer to the body "" must be an HTTP error or have the status Failure, got the status "Success"`,
			extension: instead(good(t), http.MethodPost, variablesPath, succeed),
		},
		{
			name: "takes any method", reason: "a GET must not call a hook", want: []string{"method"},
			err:       "the answer to a GET must be an HTTP error",
			extension: instead(good(t), http.MethodGet, variablesPath, succeed),
		},
		{
			name: "takes any name", reason: "a handler that is gone must not answer", want: []string{"unknownHandler"},
			err:       "must be an HTTP error, such as 404, got HTTP status 200",
			extension: instead(good(t), http.MethodPost, "/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovervariables/a-", succeed),
		},
		{
			name: "no status", reason: "callers accept two statuses",
			want: []string{"protocol", "idempotence", "determinism", "latency", "badInput"}, err: "neither Success nor Failure",
			extension: instead(good(t), http.MethodPost, variablesPath,
				func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) }),
		},
		{
			name: "error that a policy hides", reason: "the failure policy doesn't hide an error from the checks", err: "HTTP status 500",
			want: []string{"unknownFields", "protocol", "idempotence", "determinism", "latency", "badInput"},
			extension: with(t, func(context.Context, *clusterapi.DiscoverVariablesRequest, *clusterapi.DiscoverVariablesResponse) {
				panic("fault")
			}, extension.FailurePolicy(hooksv1.FailurePolicyIgnore)),
		},
		{
			name: "strict", reason: "an extension that refuses unknown fields fails with newer callers",
			want: []string{"unknownFields"}, err: "HTTP status 400",
			extension: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				body, err := io.ReadAll(req.Body)
				if err != nil || bytes.Contains(body, []byte("aFieldOfTheFuture")) {
					http.Error(w, "unknown field", http.StatusBadRequest)
					return
				}
				req.Body = io.NopCloser(bytes.NewReader(body))
				good(t).ServeHTTP(w, req)
			}),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var failed []string
				var texts strings.Builder
				target := checker.Target{Catalog: newCatalog(t), Connector: inMemory{test.extension}, ClientConfig: runtimev1.ClientConfig{URL: "https://extension"}}
				for _, result := range checker.Run(t.Context(), target) {
					if result.Err != nil {
						failed = append(failed, result.Check)
						fmt.Fprintln(&texts, result.Err)
					}
				}
				slices.Sort(failed)
				slices.Sort(test.want)
				if diff := cmp.Diff(test.want, failed); diff != "" {
					t.Errorf("failed checks (-want +got, %s): %s\n%s", test.reason, diff, &texts)
				}
				if !strings.Contains(texts.String(), test.err) {
					t.Errorf("errors lack %q: %s", test.err, &texts)
				}
			})
		})
	}
}

// inMemory connects to an extension without a network, so that the calls take no real time in a synctest bubble.
type inMemory struct{ extension http.Handler }

func (m inMemory) Connect(config runtimev1.ClientConfig) (hookclient.Connection, error) {
	base, err := url.Parse(config.URL)
	return hookclient.Connection{URL: base, HTTP: &http.Client{Transport: m}}, err
}

func (m inMemory) RoundTrip(req *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	m.extension.ServeHTTP(answer, req)
	return answer.Result(), req.Context().Err()
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(nil)
	server.Close()
	results := checker.Run(t.Context(), checker.Target{Catalog: newCatalog(t), ClientConfig: runtimev1.ClientConfig{URL: server.URL}})
	if len(results) != len(checker.Checks()) {
		t.Errorf("want a result of each check, got %d", len(results))
	}
	for i, result := range results {
		if want := i > 0; result.Err == nil || errors.Is(result.Err, checker.ErrNotDiscovered) != want {
			t.Errorf("check %q of an extension that can't be reached: want an error that wraps ErrNotDiscovered: %t, got %v", result.Check, want, result.Err)
		}
	}
	for _, result := range checker.Run(t.Context(), checker.Target{Catalog: newCatalog(t)}) {
		if result.Err == nil {
			t.Errorf("check %q passes without an extension", result.Check)
		}
	}
}
