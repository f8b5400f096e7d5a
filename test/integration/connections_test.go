package integration_test

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// meeting is a handler that answers nobody before as many have come as it waits for.
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

// Calls at the same time share one connection to a URL, by HTTP/2. To a service there are as many
// as calls, by HTTP/1.1, so that each may reach another endpoint. Both are kept for later calls.
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
			calls(1) // tells which protocol there is
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

// A service that moves is called where it is now, although the connection to where it was is there.
func TestConnectionsFollowTheService(t *testing.T) {
	t.Parallel()
	own, err := newAuthority()
	ok(t, err)
	before, after := &miniapitest.Recorder{}, &miniapitest.Recorder{}
	const name = "hook.default.svc"
	slice := func(serving int) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Name: "hook", Labels: map[string]string{discoveryv1.LabelServiceName: "hook"}},
			AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"127.0.0.1"}}},
			Ports: []discoveryv1.EndpointPort{{Port: port(serving)}},
		}
	}
	srv := miniapitest.Start(t)
	must(srv.Client().CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "hook"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
	}, metav1.CreateOptions{}))(t)
	slices := srv.Client().DiscoveryV1().EndpointSlices("default")
	must(slices.Create(t.Context(), slice(own.serve(t, before.Handler(allow()), name)), metav1.CreateOptions{}))(t)
	install(t, srv, validating("hook", nil, at(admissionregistrationv1.WebhookClientConfig{
		CABundle: own.pem, Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "hook"},
	})))
	ok(t, createThing(t, srv))

	must(slices.Patch(t.Context(), "hook", types.JSONPatchType, fmt.Appendf(nil, `[{"op":"replace","path":"/ports/0/port","value":%d}]`,
		own.serve(t, after.Handler(allow()), name)), metav1.PatchOptions{}))(t)
	ok(t, createThing(t, srv))
	if was, is := len(before.Reviews()), len(after.Reviews()); was != 1 || is != 1 {
		t.Errorf("want one call at each address, got %d before and %d after", was, is)
	}
}
