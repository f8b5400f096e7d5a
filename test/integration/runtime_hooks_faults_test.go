package integration_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http accepts no other type of logger
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	extensions "github.com/miniapi-dev/miniapi/pkg/runtimehooks/extension"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
)

// breakable is an extension that a test can break and repair.
type breakable struct {
	server      *httptest.Server
	handler     atomic.Pointer[http.Handler]
	certificate atomic.Pointer[tls.Certificate]
}

// newBreakable starts an extension with a certificate for localhost.
func newBreakable(t *testing.T, from *authority, handler http.Handler) *breakable {
	t.Helper()
	b := &breakable{}
	b.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { (*b.handler.Load()).ServeHTTP(w, req) }))
	b.server.TLS = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return b.certificate.Load(), nil }}
	b.server.Config.ErrorLog = log.New(t.Output(), "", 0) // the log has errors of handshakes that the test makes fail
	b.answers(handler)
	b.has(t, from)
	b.server.StartTLS()
	t.Cleanup(b.server.Close)
	return b
}

func (b *breakable) answers(handler http.Handler) { b.handler.Store(&handler) }

// has gives the extension a certificate of an authority.
func (b *breakable) has(t *testing.T, from *authority) {
	t.Helper()
	issued := from.issue(t, "localhost", "localhost")
	pair := must(tls.X509KeyPair(issued.cert, issued.key))(t)
	b.certificate.Store(&pair)
}

// url returns the extension's URL with the host localhost, for which the certificate is valid.
func (b *breakable) url() string {
	return strings.Replace(b.server.URL, "127.0.0.1", "localhost", 1)
}

func body(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
}

// hang doesn't answer. It reads the request, because otherwise net/http doesn't detect the end of the connection.
func hang(_ http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body)
	<-req.Context().Done()
}

// An extension fails after its discovery, in a different way in each test. The failure policy of the handler then
// decides about a call, the next discovery reports the failure in the condition, and calls succeed again after a
// repair. No failure ends the server, or affects another extension.
func TestFaultsOfExtensions(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	own, err := newAuthority()
	ok(t, err)
	other, err := newAuthority()
	ok(t, err)
	panicking := extensions.Of(clusterapi.BeforeClusterCreate, "quota", func(context.Context, *clusterapi.BeforeClusterCreateRequest, *clusterapi.BeforeClusterCreateResponse) {
		panic("out of quota")
	})
	faults := []struct {
		name, reason string
		fault        func(*testing.T, *breakable)
		timeout      time.Duration // the timeout of the handler; it is short only for the fault of a slow handler
		want         string        // a part of the call's error
		// discovery is a part of the condition's message. It is "" if the condition stays true, or becomes false only
		// much later.
		discovery string
		forGood   bool // whether the fault can't be repaired
	}{{
		name: "refused", reason: "no process listens at the port", want: "connection refused",
		discovery: "connection refused", forGood: true,
		fault: func(t *testing.T, b *breakable) {
			ok(t, b.server.Listener.Close())
			b.server.CloseClientConnections()
		},
	}, {
		name: "hang", reason: "the handler's timeout ends the call", want: "no answer within 3s", timeout: 3 * time.Second,
		fault: func(_ *testing.T, b *breakable) { b.answers(http.HandlerFunc(hang)) },
	}, {
		name: "slow", reason: "the timeout counts until the last byte", want: "no answer within 3s", timeout: 3 * time.Second,
		fault: func(_ *testing.T, b *breakable) {
			b.answers(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				fmt.Fprint(w, `{"status":`)
				_ = http.NewResponseController(w).Flush()
				hang(w, req)
			}))
		},
	}, {
		name: "garbage", reason: "the body is no JSON", want: "the response must be a BeforeClusterCreateResponse",
		discovery: "the response must be a DiscoveryResponse",
		fault:     func(_ *testing.T, b *breakable) { b.answers(body("<html>")) },
	}, {
		name: "wrong kind", reason: "the response belongs to another hook", want: "Kind=AfterClusterUpgradeResponse",
		discovery: "Kind=AfterClusterUpgradeResponse",
		fault: func(_ *testing.T, b *breakable) {
			b.answers(body(`{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","kind":"AfterClusterUpgradeResponse","status":"Success"}`))
		},
	}, {
		name: "wrong version", reason: "the response belongs to another version",
		want:      "the response is a hooks.runtime.cluster.x-k8s.io/v9",
		discovery: "the response is a hooks.runtime.cluster.x-k8s.io/v9",
		fault: func(_ *testing.T, b *breakable) {
			b.answers(body(`{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v9","kind":"BeforeClusterCreateResponse","status":"Success"}`))
		},
	}, {
		name: "huge body", reason: "a response doesn't fill the server's memory",
		want: "must have at most 20971520 bytes", discovery: "must have at most 20971520 bytes",
		fault: func(_ *testing.T, b *breakable) {
			b.answers(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				chunk := []byte(strings.Repeat(" ", 1<<20))
				for {
					if _, err := w.Write(chunk); err != nil {
						return
					}
				}
			}))
		},
	}, {
		name: "redirect", reason: "the server follows no redirects of an extension", want: "HTTP status 307", discovery: "HTTP status 307",
		fault: func(_ *testing.T, b *breakable) {
			b.answers(http.RedirectHandler("https://localhost:1/", http.StatusTemporaryRedirect))
		},
	}, {
		name: "wrong certificate", reason: "the certificate is of an authority that the caBundle lacks",
		want: "x509: certificate signed by unknown authority", discovery: "x509: certificate signed by unknown authority",
		fault: func(t *testing.T, b *breakable) {
			b.has(t, other)
			b.server.CloseClientConnections()
		},
	}, {
		name: "panic", reason: "the extension's HTTP server answers in place of a function that panics", want: "HTTP status 500",
		fault: func(t *testing.T, b *breakable) { b.answers(discovering(t, panicking)) },
	}, {
		name: "end of the connection", reason: "the extension ends within a request", want: "EOF", discovery: "EOF",
		fault: func(_ *testing.T, b *breakable) {
			b.answers(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
		},
	}, {
		name: "handler that vanishes", reason: "the extension has been replaced", want: "HTTP status 404",
		fault: func(t *testing.T, b *breakable) { b.answers(discovering(t, answers("another", "", 0))) },
	}}
	t.Run("faults", func(t *testing.T) {
		for i, test := range faults {
			for _, policy := range []hooksv1.FailurePolicy{hooksv1.FailurePolicyFail, hooksv1.FailurePolicyIgnore} {
				t.Run(test.name+"/"+string(policy), func(t *testing.T) {
					t.Parallel()
					working := discovering(t, extensions.Of(clusterapi.BeforeClusterCreate, "quota", func(_ context.Context, _ *clusterapi.BeforeClusterCreateRequest, r *clusterapi.BeforeClusterCreateResponse) {
						r.Status, r.Message = hooksv1.ResponseStatusSuccess, "works"
					}, extensions.Timeout(cmp.Or(test.timeout, 30*time.Second)), extensions.FailurePolicy(policy)))
					b := newBreakable(t, own, working)
					name := strings.ToLower(fmt.Sprintf("fault-%d-%s", i, policy))
					configs := srv.DynamicClient().Resource(runtimev1.Resource())
					config := extensionConfig(t, name, fmt.Sprintf(`{clientConfig: {url: %q, caBundle: %s}}`, b.url(), base64.StdEncoding.EncodeToString(own.pem)))
					must(configs.Create(t.Context(), config, metav1.CreateOptions{}))(t)
					awaitDiscovered(t, srv, name, metav1.ConditionTrue, "")
					call := func() *hookclient.Result {
						t.Helper()
						return must(callHook(t.Context(), srv.Config(), hookclient.Call{Hook: "BeforeClusterCreate", Handler: "quota." + name, Object: aCluster}))(t)
					}
					again := func(value string) {
						t.Helper()
						must(configs.Patch(t.Context(), name, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/again":%q}}}`, value), metav1.PatchOptions{}))(t)
					}
					if result := call(); result.Error != "" || !strings.Contains(string(result.Response), "works") {
						t.Fatalf("before the fault: %+v", result)
					}

					test.fault(t, b)
					result := call()
					for range 10 {
						// If the failing extension has just closed the connection of a call, the call returns EOF. The
						// next call makes a new connection.
						if closed := strings.HasSuffix(result.Error+result.Answers[0].Ignored, "EOF"); !closed || test.want == "EOF" {
							break
						}
						result = call()
					}
					got, ignored := result.Error, policy == hooksv1.FailurePolicyIgnore
					if ignored {
						got = result.Answers[0].Ignored
					}
					if !strings.Contains(got, test.want) {
						t.Errorf("the error lacks %q: %+v (%s)", test.want, result, test.reason)
					}
					if succeeded := result.Error == "" && string(result.Response) == `{"status":"Success","retryAfterSeconds":0}`; succeeded != ignored {
						t.Errorf("under the policy %s, the call comes to %+v with %s (%s)", policy, result, result.Response, test.reason)
					}
					if test.discovery != "" {
						again("fault")
						if config := awaitDiscovered(t, srv, name, metav1.ConditionFalse, test.discovery); len(config.Status.Handlers) != 1 {
							t.Errorf("the handlers of the last valid answer are gone: %+v", config.Status.Handlers)
						}
					}
					if test.forGood {
						return
					}
					b.answers(working)
					b.has(t, own)
					again("healed")
					awaitDiscovered(t, srv, name, metav1.ConditionTrue, "")
					if result := call(); result.Error != "" || !strings.Contains(string(result.Response), "works") {
						t.Errorf("after the fault: %+v", result)
					}
				})
			}
		}
	})
	ok(t, srv.Client().Discovery().RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error())
}

// Handlers of two ExtensionConfigs may have the same name. If one handler fails, the other handler still works.
func TestTwoExtensionsWithOneHandlerName(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	own, err := newAuthority()
	ok(t, err)
	first, second := newBreakable(t, own, discovering(t, answers("quota", "first", 0))), newBreakable(t, own, discovering(t, answers("quota", "second", 0)))
	for name, b := range map[string]*breakable{"a": first, "b": second} {
		config := extensionConfig(t, name, fmt.Sprintf(`{clientConfig: {url: %q, caBundle: %s}}`, b.url(), base64.StdEncoding.EncodeToString(own.pem)))
		must(srv.DynamicClient().Resource(runtimev1.Resource()).Create(t.Context(), config, metav1.CreateOptions{}))(t)
		awaitDiscovered(t, srv, name, metav1.ConditionTrue, "")
	}
	if result := awaitAnswers(t, srv, "quota.a", "quota.b"); !strings.Contains(string(result.Response), `"message":"first, second"`) {
		t.Errorf("the response is %s", result.Response)
	}
	second.answers(body("<html>"))
	for handler, want := range map[string]string{"quota.a": "", "quota.b": "the response must be a BeforeClusterCreateResponse"} {
		result := must(callHook(t.Context(), srv.Config(), hookclient.Call{Hook: "BeforeClusterCreate", Handler: handler, Object: aCluster}))(t)
		if (result.Error == "") != (want == "") || !strings.Contains(result.Error, want) {
			t.Errorf("%s: the error %q lacks %q", handler, result.Error, want)
		}
	}
}
