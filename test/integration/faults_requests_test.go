package integration_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server/faults"
)

// inject adds faults, given in YAML, to a running server.
func inject(t testing.TB, srv *miniapitest.Server, yaml string) {
	t.Helper()
	ok(t, srv.Client().Discovery().RESTClient().Post().AbsPath(faults.Path).Body([]byte(yaml)).Do(t.Context()).Error())
}

// uninject removes the fault with the name, or all faults if the name is "".
func uninject(t testing.TB, srv *miniapitest.Server, name string) {
	t.Helper()
	ok(t, srv.Client().Discovery().RESTClient().Delete().AbsPath(faults.Path, name).Do(t.Context()).Error())
}

// plain returns an HTTP client of a server. Unlike client-go, it doesn't repeat a request when the response asks for
// it.
func plain(t testing.TB, config *rest.Config) *http.Client {
	t.Helper()
	transport := must(rest.TransportFor(config))(t)
	return &http.Client{Transport: transport}
}

func get(t testing.TB, client *http.Client, url string) (*http.Response, error) {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody))(t)
	return client.Do(req)
}

func updateThing(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().ConfigMaps("default").Update(ctx, thing(), metav1.UpdateOptions{})
	return err
}

// A fault can be injected into exactly one request. In this test, only the third update fails, with a conflict.
func TestFaultOfAnExactRequest(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags("--fault=verbs=update,resources=configmaps,names=thing,requests=3,conflict"))
	prepare(t, srv.Client(), true)
	var conflicts []int
	for n := 1; n <= 5; n++ {
		err := updateThing(t.Context(), srv.Client())
		if apierrors.IsConflict(err) {
			conflicts = append(conflicts, n)
			const want = `Operation cannot be fulfilled on configmaps "thing": the object has been modified; please apply your changes to the latest version and try again`
			if diff := cmp.Diff(want, err.Error()); diff != "" {
				t.Errorf("the words of a conflict (-want +got):\n%s", diff)
			}
		} else {
			ok(t, err)
		}
	}
	if diff := cmp.Diff([]int{3}, conflicts); diff != "" {
		t.Errorf("updates with a conflict (-want +got):\n%s", diff)
	}
}

// If an injected fault has a status, the client gets the response that a server with this failure sends. A header of
// the response names the fault.
func TestFaultWithAStatus(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	inject(t, srv, `
faults:
- {name: busy, resources: [pods], status: 429, retryAfter: 7s}
- {name: down, resources: [secrets], status: 503, reason: Starting, message: please wait}
- {name: late, resources: [services], timeout: true}
- {name: unhealthy, paths: [/healthz], status: 500}
`)
	client := plain(t, srv.Config())
	for _, test := range []struct {
		name, reason, path string
		code               int
		want               metav1.Status
		header             http.Header
	}{
		{
			name: "too many requests", reason: "clients wait as long as the header says",
			path: "/api/v1/namespaces/default/pods/web", code: http.StatusTooManyRequests,
			want: metav1.Status{
				Status: "Failure", Reason: "TooManyRequests", Code: 429,
				Message: "the server has received too many requests and has asked us to try again later (get pods web)",
				Details: &metav1.StatusDetails{Name: "web", Kind: "pods", RetryAfterSeconds: 7},
			},
			header: http.Header{"Retry-After": {"7"}, "Miniapi-Fault": {"busy: status 429 at request 1"}},
		},
		{
			name: "own words", reason: "the fault can set the reason that a controller looks for",
			path: "/api/v1/secrets", code: http.StatusServiceUnavailable,
			want: metav1.Status{Status: "Failure", Reason: "Starting", Code: 503, Message: "please wait",
				Details: &metav1.StatusDetails{Kind: "secrets"}},
			header: http.Header{"Miniapi-Fault": {"down: status 503 at request 1"}},
		},
		{
			name: "timeout", reason: "the server's words when the time of a request is over", path: "/api/v1/services",
			code: http.StatusGatewayTimeout,
			want: metav1.Status{Status: "Failure", Reason: "Timeout", Code: 504,
				Message: "Timeout: request did not complete within requested timeout - context deadline exceeded",
				Details: &metav1.StatusDetails{}},
			header: http.Header{"Miniapi-Fault": {"late: timeout at request 1"}},
		},
		{
			name: "path", reason: "a path that isn't a resource's", path: "/healthz", code: http.StatusInternalServerError,
			want: metav1.Status{Status: "Failure", Reason: "InternalError", Code: 500,
				Message: "an error on the server (\"injected by fault unhealthy\") has prevented the request from succeeding",
				Details: &metav1.StatusDetails{}},
			header: http.Header{"Miniapi-Fault": {"unhealthy: status 500 at request 1"}},
		},
		{name: "other", reason: "no fault selects the request", path: "/version", code: http.StatusOK, header: http.Header{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			response, err := get(t, client, srv.Config().Host+test.path)
			ok(t, err)
			defer func() { _ = response.Body.Close() }()
			body := must(io.ReadAll(response.Body))(t)
			if response.StatusCode != test.code {
				t.Errorf("%s: want the code %d, got %s: %s", test.reason, test.code, response.Status, body)
			}
			got := http.Header{}
			for _, name := range []string{"Retry-After", faults.Header} {
				if values := response.Header.Values(name); len(values) > 0 {
					got[name] = values
				}
			}
			if diff := cmp.Diff(test.header, got); diff != "" {
				t.Errorf("%s: header (-want +got):\n%s", test.reason, diff)
			}
			if test.code == http.StatusOK {
				return
			}
			status := decode[metav1.Status](t, body)
			status.TypeMeta = metav1.TypeMeta{}
			if diff := cmp.Diff(&test.want, status); diff != "" {
				t.Errorf("%s: Status (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// An injected fault can replace the response of a write that takes effect. A client that repeats a create then gets the
// error AlreadyExists.
func TestFaultAfterTheWrite(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	for _, test := range []struct{ name, effect string }{{"timeout", "timeout: true"}, {"reset", "reset: stream"}, {"status", "status: 500"}} {
		inject(t, srv, "faults: [{verbs: [create], names: ["+test.name+"], requests: 1, executed: true, "+test.effect+"}]")
		configMaps := srv.Client().CoreV1().ConfigMaps("default")
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: test.name}}
		if _, err := configMaps.Create(t.Context(), object, metav1.CreateOptions{}); err == nil || apierrors.IsAlreadyExists(err) {
			t.Errorf("%s: want the error of the fault, got %v", test.name, err)
		}
		if _, err := configMaps.Create(t.Context(), object, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			t.Errorf("%s: want the object to exist, got %v", test.name, err)
		}
	}
}

// An injected fault that breaks the connection gives the client an error of its transport.
func TestFaultBreaksTheConnection(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	inject(t, srv, `
faults:
- {resources: [pods], reset: stream}
- {resources: [secrets], reset: connection}
- {resources: [namespaces], truncate: 100}
`)
	http2 := plain(t, srv.Config())
	one := srv.Config()
	one.NextProtos = []string{"http/1.1"}
	for _, test := range []struct {
		name, reason, path string
		client             *http.Client
		want               func(error) bool
		body               int // the number of bytes of the body that the client gets
	}{
		{"stream", "the stream is reset, and the connection stays", "/api/v1/pods", http2, contains("INTERNAL_ERROR"), 0},
		{"stream in HTTP/1.1", "HTTP/1.1 has no streams", "/api/v1/pods", plain(t, one), contains("EOF"), 0},
		{"connection", "the operating system reports the reset", "/api/v1/secrets", http2,
			func(err error) bool { return errors.Is(err, syscall.ECONNRESET) }, 0},
		{"truncated", "the rest of the body is missing", "/api/v1/namespaces", http2, contains("INTERNAL_ERROR"), 100},
		{"truncated in HTTP/1.1", "the rest of the body is missing", "/api/v1/namespaces", plain(t, one),
			func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }, 100},
	} {
		// The cases don't run in parallel, because a reset of a connection ends the requests of other cases.
		t.Run(test.name, func(t *testing.T) {
			response, err := get(t, test.client, srv.Config().Host+test.path)
			var body []byte
			if err == nil {
				defer func() { _ = response.Body.Close() }()
				body, err = io.ReadAll(response.Body)
			}
			if err == nil || !test.want(err) {
				t.Errorf("%s: got the error %v", test.reason, err)
			}
			if len(body) != test.body {
				t.Errorf("%s: want %d bytes, got %q", test.reason, test.body, body)
			}
		})
	}
}

func contains(text string) func(error) bool {
	return func(err error) bool { return strings.Contains(err.Error(), text) }
}

// An injected latency passes before the request is served. It ends when the client is gone, and doesn't delay a stop.
func TestFaultDelays(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	inject(t, srv, `
faults:
- {name: short, verbs: [create], latency: 50ms}
- {name: long, verbs: [update], latency: 1h}
`)
	prepare(t, srv.Client(), false)
	before := time.Now()
	must(srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), thing(), metav1.CreateOptions{}))(t)
	if took := time.Since(before); took < 50*time.Millisecond {
		t.Errorf("want at least 50ms, got %s", took)
	}
	waiting := func(updates uint64) {
		t.Helper()
		eventually(t, func(context.Context) error {
			if matched := stateOf(t, srv, "long").Matched; matched != updates {
				return fmt.Errorf("want %d updates to have reached the fault, got %d", updates, matched)
			}
			return nil
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- updateThing(ctx, srv.Client()) }()
	waiting(1)
	cancel()
	if err := <-answered; err == nil {
		t.Error("an update was served before its latency had passed")
	}
	go func() { answered <- updateThing(t.Context(), srv.Client()) }()
	waiting(2)
	ok(t, srv.Stop())
	if err := <-answered; err != nil {
		t.Errorf("a stop ends the latency, and serves the update: %v", err)
	}
}

// stateOf returns the state of an injected fault.
func stateOf(t testing.TB, srv *miniapitest.Server, name string) faults.State {
	t.Helper()
	list := decode[faults.List](t, must(srv.Client().Discovery().RESTClient().Get().AbsPath(faults.Path).DoRaw(t.Context()))(t))
	for _, state := range list.Faults {
		if state.Name == name {
			return state
		}
	}
	t.Fatalf("no fault %s in %v", name, list.Faults)
	return faults.State{}
}

// A fault for a share of the requests is injected into the same requests in each run, if the seed and the name of the
// fault are the same. The way in which the server gets the fault (by a flag, a file or a client) doesn't matter.
func TestFaultsAreReproducible(t *testing.T) {
	t.Parallel()
	const requests, file = 60, "faults: [{name: some, resources: [configmaps], verbs: [create], share: 0.3, status: 503}]"
	path := filepath.Join(t.TempDir(), "faults.yaml")
	ok(t, os.WriteFile(path, []byte(file), 0o600))
	failed := func(given string, flags ...string) (numbers []int) {
		t.Helper()
		srv := miniapitest.Start(t, miniapitest.WithFlags(flags...))
		if given != "" {
			inject(t, srv, given)
		}
		for n := range requests {
			_, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), thing(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if apierrors.IsServiceUnavailable(err) {
				numbers = append(numbers, n+1)
			} else {
				ok(t, err)
			}
		}
		return numbers
	}
	const flag = "--fault=name=some,resources=configmaps,verbs=create,share=30%,status=503"
	first := failed("", flag, "--fault-seed=7")
	if len(first) == 0 || len(first) == requests {
		t.Errorf("want some of the requests to fail, got %v", first)
	}
	for _, again := range []struct {
		name    string
		numbers []int
	}{
		{"flag", failed("", flag, "--fault-seed=7")},
		{"file", failed("", "--fault-file="+path, "--fault-seed=7")},
		{"client", failed(file, "--fault-seed=7")},
	} {
		if diff := cmp.Diff(first, again.numbers); diff != "" {
			t.Errorf("%s: (-first +again):\n%s", again.name, diff)
		}
	}
	if other := failed("", flag, "--fault-seed=8"); cmp.Equal(first, other) {
		t.Error("want other requests with another seed")
	}
}

// If an injected fault has the field stale, a list has the objects and the resource version of an earlier state. A get
// returns the present object.
func TestFaultAnswersAStaleList(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	configMaps := srv.Client().CoreV1().ConfigMaps("default")
	define(t, srv, "gadgets", "Gadget", "v1")
	gadgets := resources(srv, "example.com/v1", "gadgets")
	create := func(name string) string {
		t.Helper()
		must(gadgets.Create(t.Context(), object("example.com/v1", "Gadget", name, nil), metav1.CreateOptions{}))(t)
		return must(configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "thing"}}}, metav1.CreateOptions{}))(t).ResourceVersion
	}
	names := func(user string) (names []string, version string) {
		t.Helper()
		config := srv.Config()
		config.Impersonate.UserName, config.Impersonate.Groups = user, []string{"system:masters"}
		list := must(kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=thing"}))(t)
		for _, item := range list.Items {
			names = append(names, item.Name)
		}
		return names, list.ResourceVersion
	}
	create("a")
	version := create("b")
	inject(t, srv, `
faults:
- {name: frozen, stale: frozen, users: [one]}
- {name: behind, stale: "-2", users: [two]}
- {name: version, stale: "`+version+`", users: [three]}
- {name: gadgets, stale: frozen, resources: [gadgets]}
`)
	create("c")
	create("d")
	for _, test := range []struct {
		user, reason string
		want         []string
	}{
		{"one", "the objects when the fault was added", []string{"a", "b"}},
		{"two", "two writes ago, of any object", []string{"a", "b", "c"}},
		{"three", "the objects at that resource version", []string{"a", "b"}},
		{"four", "no fault is for the user", []string{"a", "b", "c", "d"}},
	} {
		got, listed := names(test.user)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
		if test.user == "three" && listed != version {
			t.Errorf("want a list of the resource version %s, got %s", version, listed)
		}
	}
	if list := must(gadgets.List(t.Context(), metav1.ListOptions{}))(t); len(list.Items) != 2 {
		t.Errorf("want the custom resources when the fault was added, 2, got %d", len(list.Items))
	}
	must(configMaps.Get(t.Context(), "d", metav1.GetOptions{}))(t)
}

// Injected faults can be limited to some clients, and a client can exclude its request from faults by a header.
func TestFaultsOfClients(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	inject(t, srv, `
faults:
- {users: ["system:serviceaccount:*"], status: 500}
- {userAgents: [manager/*], status: 501}
- {userAgents: [all/*], status: 502}
`)
	for _, test := range []struct {
		name, reason string
		change       func(*rest.Config)
		want         int32
	}{
		{"user", "the user after impersonation counts", func(c *rest.Config) {
			c.Impersonate.UserName, c.Impersonate.Groups = "system:serviceaccount:a:b", []string{"system:masters"}
		}, 500},
		{"user agent", "the user agent may have any version", func(c *rest.Config) { c.UserAgent = "manager/v2" }, 501},
		{"other", "no fault selects the client", func(*rest.Config) {}, 0},
		{"without", "a header keeps faults away", func(c *rest.Config) {
			c.UserAgent = "all/v1"
			c.Wrap(faults.Without)
		}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config := srv.Config()
			test.change(config)
			_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
			var got int32
			if status := apierrors.APIStatus(nil); errors.As(err, &status) {
				got = status.Status().Code
			} else {
				ok(t, err)
			}
			if got != test.want {
				t.Errorf("%s: want the code %d, got %d", test.reason, test.want, got)
			}
		})
	}
}
