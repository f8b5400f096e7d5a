package integration_test

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// meeting is a handler whose requests wait until a number of them have arrived.
type meeting struct {
	mu      sync.Mutex
	missing int
	all     chan struct{}
	next    http.Handler
}

func (m *meeting) of(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.missing, m.all = n, make(chan struct{})
}

func (m *meeting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	all := m.all
	if m.missing--; m.missing == 0 {
		close(all)
	}
	m.mu.Unlock()
	select {
	case <-all:
		m.next.ServeHTTP(w, r)
	case <-r.Context().Done():
	}
}

// countingListener counts the connections that it accepts.
type countingListener struct {
	net.Listener
	accepted atomic.Int32
}

func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.accepted.Add(1)
	}
	return c, err
}

// Parallel calls of a webhook with a URL share one HTTP/2 connection. Parallel calls of a webhook with a service have
// separate HTTP/1.1 connections, so that they can reach different endpoints. Later calls use the same connections.
func TestConnectionsToWebhooks(t *testing.T) {
	t.Parallel()
	const callers = 10
	for _, tc := range []struct {
		name, reason, protocol string
		config                 func(port int, ca []byte) admissionregistrationv1.WebhookClientConfig
		connections            int32
	}{
		{"url", "one connection is enough for a URL", "HTTP/2.0", func(port int, ca []byte) admissionregistrationv1.WebhookClientConfig {
			return admissionregistrationv1.WebhookClientConfig{URL: new(fmt.Sprintf("https://localhost:%d", port)), CABundle: ca}
		}, 1},
		{"service", "each call may reach another endpoint of a service", "HTTP/1.1", func(_ int, ca []byte) admissionregistrationv1.WebhookClientConfig {
			return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "hooks", Name: "hook"}, CABundle: ca}
		}, callers},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			own, err := newAuthority()
			ok(t, err)
			together := &meeting{next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Proto != tc.protocol {
					t.Errorf("%s: want %s, got %s", tc.reason, tc.protocol, r.Proto)
				}
				allow().ServeHTTP(w, r)
			})}
			listener := &countingListener{Listener: must(net.Listen("tcp", "127.0.0.1:0"))(t)}
			own.serveOn(t, listener, together, "localhost", "hook.hooks.svc")
			port := listener.Addr().(*net.TCPAddr).Port
			srv := miniapitest.Start(t, placed("hooks", "hook", 443, port))
			install(t, srv, validating("hook", nil, at(tc.config(port, own.pem))))

			calls := func(n int) {
				together.of(n)
				var calling sync.WaitGroup
				for i := range n {
					calling.Go(func() {
						cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("cm-", i)}}
						if _, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{DryRun: dry}); err != nil {
							t.Error(err)
						}
					})
				}
				calling.Wait()
			}
			calls(1) // the first call negotiates the version of HTTP
			calls(callers)
			if got := listener.accepted.Load(); got != tc.connections {
				t.Errorf("%s: %d calls at the same time: want %d connections, got %d", tc.reason, callers, tc.connections, got)
			}
			calls(callers)
			if got := listener.accepted.Load(); got != tc.connections {
				t.Errorf("%s: as many again: want no further connection, got %d in all", tc.reason, got)
			}
		})
	}
}

// If a service gets another address, the server calls its webhook at the new address, even if a connection to the old
// address is open.
func TestConnectionsFollowTheService(t *testing.T) {
	t.Parallel()
	own, err := newAuthority()
	ok(t, err)
	before, after := &miniapitest.Recorder{}, &miniapitest.Recorder{}
	const name = "hook.default.svc"
	srv := miniapitest.Start(t)
	must(srv.Client().CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "hook"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
	}, metav1.CreateOptions{}))(t)
	endpointSlices := srv.Client().DiscoveryV1().EndpointSlices("default")
	must(endpointSlices.Create(t.Context(), endpointSlice("hook", own.serve(t, before.Handler(allow()), name)), metav1.CreateOptions{}))(t)
	install(t, srv, validating("hook", nil, at(admissionregistrationv1.WebhookClientConfig{
		CABundle: own.pem, Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "hook"},
	})))
	ok(t, createThing(t, srv))

	must(endpointSlices.Patch(t.Context(), "hook", types.JSONPatchType, fmt.Appendf(nil, `[{"op":"replace","path":"/ports/0/port","value":%d}]`,
		own.serve(t, after.Handler(allow()), name)), metav1.PatchOptions{}))(t)
	ok(t, createThing(t, srv))
	if was, is := len(before.Reviews()), len(after.Reviews()); was != 1 || is != 1 {
		t.Errorf("want one call at each address, got %d before and %d after", was, is)
	}
}

// The server's calls to a service go to all ready endpoints of the service. An endpoint that isn't ready gets no call.
func TestConnectionsToSeveralEndpoints(t *testing.T) {
	t.Parallel()
	own, err := newAuthority()
	ok(t, err)
	srv := miniapitest.Start(t)
	must(srv.Client().CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: named("hook"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
	}, metav1.CreateOptions{}))(t)
	endpointSlices := srv.Client().DiscoveryV1().EndpointSlices("default")
	backends := map[string]*atomic.Int32{"a": {}, "b": {}, "c": {}}
	for name, calls := range backends {
		slice := endpointSlice("hook", own.serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			allow().ServeHTTP(w, r)
		}), "hook.default.svc"))
		slice.Name, slice.Endpoints[0].Conditions.Ready = name, new(name != "c")
		must(endpointSlices.Create(t.Context(), slice, metav1.CreateOptions{}))(t)
	}
	install(t, srv, validating("hook", nil, at(admissionregistrationv1.WebhookClientConfig{
		CABundle: own.pem, Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "hook"},
	})))
	ready := func(name string, is bool) {
		must(endpointSlices.Patch(t.Context(), name, types.JSONPatchType, fmt.Appendf(nil, `[{"op":"add","path":"/endpoints/0/conditions/ready","value":%t}]`, is), metav1.PatchOptions{}))(t)
	}
	for _, step := range []struct {
		name, reason string
		change       func()
		want         []string
	}{
		{"two of three are ready", "the calls are shared", func() {}, []string{"a", "b"}},
		{"one is ready no longer", "the other endpoint gets all calls, over existing or new connections",
			func() { ready("a", false) }, []string{"b"}},
		{"another becomes ready", "the calls are shared again", func() { ready("c", true) }, []string{"b", "c"}},
		{"a slice goes", "the endpoints of a deleted slice get no calls",
			func() { ok(t, endpointSlices.Delete(t.Context(), "b", metav1.DeleteOptions{})) }, []string{"c"}},
	} {
		step.change()
		for _, calls := range backends {
			calls.Store(0)
		}
		const calls = 40 // so many that each endpoint gets at least one
		for range calls {
			ok(t, createThing(t, srv))
		}
		var got []string
		sum := int32(0)
		for _, name := range slices.Sorted(maps.Keys(backends)) {
			if n := backends[name].Load(); n > 0 {
				got, sum = append(got, name), sum+n
			}
		}
		if diff := cmp.Diff(step.want, got); diff != "" || sum != calls {
			t.Errorf("%s: %s: endpoints that got the %d of %d calls (-want +got):\n%s", step.name, step.reason, sum, calls, diff)
		}
	}
}

// endpointSlice returns an EndpointSlice with the only endpoint of a service: a port of this machine.
func endpointSlice(service string, serving int) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"127.0.0.1"}}},
		Ports: []discoveryv1.EndpointPort{{Port: port(serving)}},
	}
}
