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

// metricsComponent is who has ended a request in apiserver_request_terminations_total, by kube-apiserver's name.
const metricsComponent = "aggregator"

// ServeHTTP passes a request on to the server, with the identity of who asks. It tries even if the last check
// failed: who has just started the server needn't wait for the next one.
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
		responsewriters.InternalError(w, req, fmt.Errorf("APIService %s: it isn't known who asks", r.service.Name))
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
	if upgrade { // which dials by itself, and whose connections outlive the context
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

// whileAsked is the context of what the server is asked: until nobody waits for the answer any more, or this server has
// stopped. A deadline is answered by the filter that sets it: what the end here would say mustn't come before.
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
		if isWatch(req) { // which has no answer to wait for
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

// watching is a transport of watches, which are complete when this server stops.
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

// hijackable is a response whose connection, once it is the handler's, is closed when this server stops.
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

// hijacked is a connection that needn't be closed at the end, once it is.
type hijacked struct {
	net.Conn

	closed func() bool
}

// Close implements net.Conn.
func (c *hijacked) Close() error {
	c.closed()
	return c.Conn.Close()
}

// fail says that the server isn't there, and counts the request as one that wasn't passed on.
func (r *remoteAPI) fail(w http.ResponseWriter, req *http.Request, err error) {
	r.explain(w, req, err)
	info, _ := request.RequestInfoFrom(req.Context())
	metrics.RecordRequestTermination(req, info, metricsComponent, http.StatusServiceUnavailable)
}

// explain says that the server can't be reached.
func (r *remoteAPI) explain(w http.ResponseWriter, req *http.Request, err error) {
	s := r.service.Spec.Service
	unavailable := apierrors.NewServiceUnavailable(fmt.Sprintf("APIService %s is served by service %s/%s, which can't be reached: %v",
		r.service.Name, s.Namespace, s.Name, err))
	responsewriters.ErrorNegotiated(unavailable, r.config.Serializer, schema.GroupVersion{}, w, req)
}

// failing says why a request that was passed on has no answer.
type failing struct{ *remoteAPI }

// Error implements proxy.ErrorResponder. kube-apiserver passes nothing on to a server that isn't available, and doesn't
// count what others fail to answer: the client may have gone, or a deadline passed, which is counted already.
func (f failing) Error(w http.ResponseWriter, req *http.Request, err error) {
	if f.available.Load() {
		f.explain(w, req, err)
		return
	}
	f.fail(w, req, err)
}
