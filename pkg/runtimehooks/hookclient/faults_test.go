package hookclient_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extension"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
)

// answer returns an HTTP handler that answers with a status code and a body.
func answer(code int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	})
}

// TestFaults breaks a handler after its Discovery, in many ways. The failure policy decides whether the call fails.
func TestFaults(t *testing.T) {
	t.Parallel()
	hang := func(w http.ResponseWriter, req *http.Request) { <-req.Context().Done() }
	for _, test := range []struct {
		name, reason string
		fault        http.Handler
		change       func(*testing.T, *runtimev1.ExtensionConfig)
		timeout      time.Duration // the handler's timeout; short only in cases about the timeout
		want         string        // part of the error
		answered     bool          // the fault is an answer of the protocol, so the failure policy doesn't apply
	}{{
		name:   "refused",
		reason: "no server listens on the port",
		change: func(_ *testing.T, c *runtimev1.ExtensionConfig) { c.Spec.ClientConfig.URL = "https://127.0.0.1:1/" },
		want:   "connection refused",
	}, {
		name:    "hang",
		reason:  "the handler's timeout ends the call",
		fault:   http.HandlerFunc(hang),
		timeout: time.Second,
		want:    "no answer within 1s",
	}, {
		name:   "slow",
		reason: "the timeout counts until the last byte",
		fault: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			_, _ = w.Write([]byte(`{"status":`))
			_ = http.NewResponseController(w).Flush()
			hang(w, req)
		}),
		timeout: time.Second,
		want:    "no answer within 1s",
	}, {
		name:   "garbage",
		reason: "the body is no JSON",
		fault:  answer(http.StatusOK, "<html>"),
		want:   "the response must be a BeforeClusterCreateResponse",
	}, {
		name:   "cut off",
		reason: "the connection ends within the body",
		fault: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"status"`))
		}),
		want: "reading the response",
	}, {
		name:   "more than an object",
		reason: "a second value is no part of the response",
		fault:  answer(http.StatusOK, `{"status":"Success"}{}`),
		want:   "the response must be a BeforeClusterCreateResponse",
	}, {
		name:   "wrong kind",
		reason: "the response belongs to another hook",
		fault: answer(http.StatusOK,
			`{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","kind":"DiscoveryResponse","status":"Success"}`),
		want: "the response is a hooks.runtime.cluster.x-k8s.io/v1alpha1, Kind=DiscoveryResponse",
	}, {
		name:   "wrong version",
		reason: "the response belongs to another version of the hook",
		fault: answer(http.StatusOK,
			`{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha2","kind":"BeforeClusterCreateResponse","status":"Success"}`),
		want: "the response is a hooks.runtime.cluster.x-k8s.io/v1alpha2",
	}, {
		name:   "negative time",
		reason: "a time before now blocks nothing",
		fault:  answer(http.StatusOK, `{"status":"Success","retryAfterSeconds":-1}`),
		want:   "and must not be negative",
	}, {
		name:   "huge body",
		reason: "a response doesn't fill the caller's memory",
		fault: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			chunk := []byte(strings.Repeat(" ", 1<<20))
			for range 22 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}),
		want: "must have at most 20971520 bytes",
	}, {
		name:   "redirect",
		reason: "an extension doesn't send its callers elsewhere",
		fault:  http.RedirectHandler("https://127.0.0.1:1/", http.StatusTemporaryRedirect),
		want:   "HTTP status 307",
	}, {
		name:   "wrong certificate",
		reason: "no authority of the caBundle has issued the certificate",
		change: func(t *testing.T, c *runtimev1.ExtensionConfig) {
			c.Spec.ClientConfig.CABundle = otherAuthority(t)
		},
		want: "certificate",
	}, {
		name:   "panic of an extension of this package",
		reason: "the extension answers with an error if a function panics",
		fault:  panicking(t),
		want:   "HTTP status 500",
	}, {
		name:   "panic of a server",
		reason: "the connection ends without an answer",
		fault:  http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
		want:   "calling https://127.0.0.1",
	}, {
		name:   "handler that vanishes after discovery",
		reason: "the extension was replaced by an extension without the handler",
		fault:  extensionWith(t),
		want:   "HTTP status 404",
	}, {
		name:     "no status",
		reason:   "an answer must have a status, and the failure policy doesn't apply to answers",
		fault:    answer(http.StatusOK, `{}`),
		want:     "neither Success nor Failure",
		answered: true,
	}} {
		for _, policy := range []hooksv1.FailurePolicy{hooksv1.FailurePolicyFail, hooksv1.FailurePolicyIgnore} {
			t.Run(test.name+"/"+string(policy), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				handler := &replaceable{}
				e, err := extension.New(extension.Options{Catalog: w.catalog},
					answering("a", success("before", 5), extension.FailurePolicy(policy), extension.Timeout(cmp.Or(test.timeout, 30*time.Second))))
				if err != nil {
					t.Fatal(err)
				}
				handler.current = e
				config := w.serve("a", handler)
				w.register(config)
				if test.fault != nil {
					handler.current = test.fault
				}
				if test.change != nil {
					test.change(t, config)
					if err := w.registry.Add(config); err != nil {
						t.Fatal(err)
					}
				}
				response, outcomes, err := w.callAll()
				if policy == hooksv1.FailurePolicyIgnore && !test.answered {
					if err != nil {
						t.Fatalf("not ignored: %v (%s)", err, test.reason)
					}
					if response.Status != hooksv1.ResponseStatusSuccess || response.Message != "" || response.RetryAfterSeconds != 0 {
						t.Errorf("an ignored error leaves %+v", response)
					}
					err = outcomes[0].Ignored
				}
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error lacks %q: %v (%s)", test.want, err, test.reason)
				}
				var callError *hookclient.CallError
				if got := errors.As(err, &callError); got == test.answered {
					t.Errorf("an error of the call: %v (%s)", got, test.reason)
				}
			})
		}
	}
}

// replaceable serves a handler that the test can replace between requests.
type replaceable struct{ current http.Handler }

func (r *replaceable) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.current.ServeHTTP(w, req)
}

func otherAuthority(t *testing.T) []byte {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	// All servers of httptest have the same certificate. The result must be another certificate.
	return selfSigned(t).pem
}

func panicking(t *testing.T) http.Handler {
	return extensionWith(t, beforeCreate("a", func(context.Context, *clusterapi.BeforeClusterCreateRequest, *clusterapi.BeforeClusterCreateResponse) {
		panic("out of quota")
	}))
}

func extensionWith(t *testing.T, handlers ...extension.Handler) http.Handler {
	t.Helper()
	e, err := extension.New(extension.Options{Catalog: newWorld(t).catalog}, handlers...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestCallerGivesUp ends the caller's context. The call must return an error even under the failure policy Ignore.
func TestCallerGivesUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	began := make(chan struct{})
	w.extend("a", beforeCreate("a", func(ctx context.Context, _ *clusterapi.BeforeClusterCreateRequest, r *clusterapi.BeforeClusterCreateResponse) {
		close(began)
		<-ctx.Done()
		r.Status = hooksv1.ResponseStatusSuccess
	}, extension.FailurePolicy(hooksv1.FailurePolicyIgnore), extension.Timeout(30*time.Second)))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	err := w.client.CallAll(ctx, clusterapi.BeforeClusterCreate, cluster, request(nil), &clusterapi.BeforeClusterCreateResponse{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

// lateAnswer connects to an extension whose answer ends when the caller's time is over.
type lateAnswer struct{ ended <-chan struct{} }

func (lateAnswer) Connect(runtimev1.ClientConfig) (hookclient.Connection, error) {
	return hookclient.Connection{URL: &url.URL{Scheme: "https", Host: "late"}, HTTP: &http.Client{Transport: lateAnswer{}}}, nil
}

func (lateAnswer) RoundTrip(req *http.Request) (*http.Response, error) {
	body := lateAnswer{req.Context().Done()}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(io.MultiReader(strings.NewReader(`{"status":"Success"}`), body)), Request: req}, nil
}

func (a lateAnswer) Read([]byte) (int, error) {
	<-a.ended
	return 0, io.EOF
}

// TestLateAnswer checks that an answer that ends after the timeout is refused, even if it is complete.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hooks := catalog.New()
		if err := clusterapi.AddToCatalog(hooks); err != nil {
			t.Fatal(err)
		}
		caller, err := hookclient.New(hookclient.Options{Catalog: hooks, Connector: lateAnswer{}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := caller.Discover(t.Context(), &runtimev1.ExtensionConfig{}); err == nil || !strings.Contains(err.Error(), "no answer within 10s") {
			t.Errorf("error is %v", err)
		}
	})
}

// TestHandlerKnowsItsTimeout checks that a request to a handler contains the time for which the caller waits.
func TestHandlerKnowsItsTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	timeout := make(chan time.Duration, 1)
	e, err := extension.New(extension.Options{Catalog: w.catalog}, beforeCreate("a", func(ctx context.Context, _ *clusterapi.BeforeClusterCreateRequest, r *clusterapi.BeforeClusterCreateResponse) {
		deadline, _ := ctx.Deadline()
		timeout <- time.Until(deadline)
		r.Status = hooksv1.ResponseStatusSuccess
	}, extension.Timeout(7*time.Second)))
	if err != nil {
		t.Fatal(err)
	}
	query := make(chan string, 2)
	w.register(w.serve("a", http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		query <- req.URL.RawQuery
		e.ServeHTTP(rw, req)
	})))
	<-query // skip the call of Discovery
	if _, _, err := w.callAll(); err != nil {
		t.Fatal(err)
	}
	if got := <-query; got != "timeout=7s" {
		t.Errorf("the query is %q", got)
	}
	if got := <-timeout; got <= 0 || got > 7*time.Second {
		t.Errorf("the handler's context ends in %s", got)
	}
}

func TestRequestIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.extend("a", answering("a", success("", 0)))
	err := w.client.CallAll(t.Context(), clusterapi.BeforeClusterCreate, cluster,
		request(map[string]string{"x": strings.Repeat("x", hookclient.MaxBodyBytes)}), &clusterapi.BeforeClusterCreateResponse{})
	if err == nil || !strings.Contains(err.Error(), "bytes, and must have at most 20971520") {
		t.Errorf("error is %v", err)
	}
}
