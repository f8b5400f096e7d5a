package aggregation

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
	apiserverproxy "k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/client-go/transport"
	"k8s.io/streaming/pkg/httpstream"
)

// metricsComponent is kube-apiserver's name for the proxy in the metric apiserver_request_terminations_total.
const metricsComponent = "aggregator"

// ServeHTTP passes a request on to the server, with the identity of the user. It tries even if the last check failed,
// so that a server that has just started is reachable before the next check.
func (r *remoteAPI) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !r.available.Load() {
		r.checkSoon()
	}
	r.pass(w, req)
}

// pass passes a request on to the server.
func (r *remoteAPI) pass(w http.ResponseWriter, req *http.Request) {
	asking, ok := request.UserFrom(req.Context())
	if !ok {
		responsewriters.InternalError(w, req, fmt.Errorf("APIService %s: the request has no user", r.service.Name))
		return
	}
	host, err := r.server.host()
	if err != nil {
		r.fail(w, req, err)
		return
	}
	t, err := r.server.transport()
	if err != nil {
		r.fail(w, req, err)
		return
	}
	ctx, end := r.whileAsked(req)
	defer end()
	req = req.WithContext(ctx)
	location := *req.URL
	location.Scheme, location.Host = "https", host
	proxied, cancel := apiserverproxy.NewRequestForProxy(&location, req)
	defer cancel()
	var uid string
	if utilfeature.DefaultFeatureGate.Enabled(features.RemoteRequestHeaderUID) {
		uid = asking.GetUID()
	}
	upgrade := httpstream.IsUpgradeRequest(req)
	if upgrade { // upgrades dial by themselves, and their connections outlive the context
		w = &hijackable{w, r.life}
		transport.SetAuthProxyHeaders(proxied, asking.GetName(), uid, asking.GetGroups(), asking.GetExtra())
	}
	t = transport.NewAuthProxyRoundTripper(asking.GetName(), uid, asking.GetGroups(), asking.GetExtra(), t)
	if isWatch(req) && !upgrade {
		t = watching{t, r.life}
	}
	handler := proxy.NewUpgradeAwareHandler(&location, t, true, upgrade, failing{r})
	handler.RejectForwardingRedirects = !r.config.Redirects
	utilflowcontrol.RequestDelegated(req.Context())
	handler.ServeHTTP(w, proxied)
}

// whileAsked returns the context of the request to the server. It ends when the client no longer waits, or shortly
// after this server has stopped. After a deadline it ends later, so that the filter that sets the deadline answers
// first.
func (r *remoteAPI) whileAsked(req *http.Request) (context.Context, context.CancelFunc) {
	asked := req.Context()
	ctx, end := context.WithCancel(context.WithoutCancel(asked))
	answered := context.AfterFunc(asked, func() {
		if errors.Is(asked.Err(), context.DeadlineExceeded) {
			time.AfterFunc(stopTimeout, end)
			return
		}
		end()
	})
	stopped := context.AfterFunc(r.life, func() {
		if isWatch(req) { // a watch has no answer to wait for
			end()
			return
		}
		time.AfterFunc(stopTimeout, end)
	})
	return ctx, func() {
		answered()
		stopped()
		end()
	}
}

func isWatch(req *http.Request) bool {
	info, ok := request.RequestInfoFrom(req.Context())
	return ok && info.Verb == "watch"
}

// watching is a transport for watches, which end without an error when this server stops.
type watching struct {
	http.RoundTripper

	life context.Context
}

// RoundTrip implements http.RoundTripper.
func (w watching) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = &watched{resp.Body, w.life}
	}
	return resp, err
}

type watched struct {
	io.ReadCloser

	life context.Context
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil && w.life.Err() != nil {
		err = io.EOF
	}
	return n, err
}

// hijackable is a response. If its handler takes over the connection, the connection is closed when this server stops.
type hijackable struct {
	http.ResponseWriter

	life context.Context
}

// Hijack implements http.Hijacker.
func (h *hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(h.life, func() { time.AfterFunc(stopTimeout, func() { _ = conn.Close() }) })
	return &hijacked{conn, stop}, buffered, nil
}

// hijacked is a connection that isn't closed at the stop of this server if it was closed before.
type hijacked struct {
	net.Conn

	closed func() bool
}

// Close implements net.Conn.
func (c *hijacked) Close() error {
	c.closed()
	return c.Conn.Close()
}

// fail answers that the server can't be reached, and counts the request as one that wasn't passed on.
func (r *remoteAPI) fail(w http.ResponseWriter, req *http.Request, err error) {
	r.explain(w, req, err)
	info, _ := request.RequestInfoFrom(req.Context())
	metrics.RecordRequestTermination(req, info, metricsComponent, http.StatusServiceUnavailable)
}

// explain answers that the server can't be reached.
func (r *remoteAPI) explain(w http.ResponseWriter, req *http.Request, err error) {
	s := r.service.Spec.Service
	unavailable := apierrors.NewServiceUnavailable(fmt.Sprintf("APIService %s is served by service %s/%s, which can't be reached: %v",
		r.service.Name, s.Namespace, s.Name, err))
	responsewriters.ErrorNegotiated(unavailable, r.config.Serializer, schema.GroupVersion{}, w, req)
}

// failing answers requests that were passed on and failed.
type failing struct{ *remoteAPI }

// Error implements proxy.ErrorResponder. Only failures of a server that isn't available are counted: kube-apiserver
// passes nothing on to such a server. It doesn't count other failures, such as a client that is gone, or a deadline,
// which is counted elsewhere.
func (f failing) Error(w http.ResponseWriter, req *http.Request, err error) {
	if f.available.Load() {
		f.explain(w, req, err)
		return
	}
	f.fail(w, req, err)
}
