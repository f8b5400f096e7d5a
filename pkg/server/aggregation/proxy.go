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

	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
	apiserverproxy "k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/client-go/transport"
	"k8s.io/component-base/tracing"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/miniapi-dev/miniapi/pkg/server/outgoing"
)

// metricsComponent is kube-apiserver's name for the proxy in the metric apiserver_request_terminations_total.
const metricsComponent = "aggregator"

// ServeHTTP passes a request on to the other server, with the name and the groups of the user. ServeHTTP sends the
// request even if the last check of the server failed: a server that has just started is reachable before the next
// check.
func (r *remoteAPI) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !r.available.Load() {
		r.checkSoon()
	}
	r.pass(w, req)
}

// pass passes a request on to the other server.
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
	if upgrade { // the handler makes the connection of an upgrade by itself, and the connection outlives the context
		w = &hijackable{w, r.life}
		transport.SetAuthProxyHeaders(proxied, asking.GetName(), uid, asking.GetGroups(), asking.GetExtra())
	}
	t = transport.NewAuthProxyRoundTripper(asking.GetName(), uid, asking.GetGroups(), asking.GetExtra(), t)
	if r.config.Tracer != nil && !upgrade {
		t = tracing.WrapperFor(r.config.Tracer)(t)
	}
	if isWatch(req) && !upgrade {
		t = watching{t, r.life}
	}
	handler := proxy.NewUpgradeAwareHandler(&location, t, true, upgrade, failing{r})
	handler.RejectForwardingRedirects = !r.config.Redirects
	utilflowcontrol.RequestDelegated(req.Context())
	handler.ServeHTTP(w, proxied)
}

// whileAsked returns the context of the request to the other server. The context ends when the client is gone. It also
// ends after the beginning of a stop of this server: at once for a watch, and after stopTimeout for any other request.
// If the request's deadline passes, the context ends stopTimeout later, so that the timeout filter can answer the
// client first.
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
		if isWatch(req) { // a watch has no complete answer to wait for
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

// watching is a transport for watches. When this server stops, the body of a watch's response ends without an error.
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

// hijackable is a response writer. If a handler takes over the connection of the response, the connection is closed
// stopTimeout after the beginning of a stop of this server.
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
	return outgoing.CloseAfter(h.life, stopTimeout, conn), buffered, nil
}

// fail answers that the other server can't be reached, and counts the request in the metric
// apiserver_request_terminations_total. The reason is in the log and in the status of the APIService: as in
// kube-apiserver, the response has no Status.
func (r *remoteAPI) fail(w http.ResponseWriter, req *http.Request, err error) {
	s := r.service.Spec.Service
	klog.V(1).InfoS("the server of an APIService can't be reached", "APIService", r.service.Name, "service", klog.KRef(s.Namespace, s.Name), "err", err)
	http.Error(w, "service unavailable", http.StatusServiceUnavailable)
	info, _ := request.RequestInfoFrom(req.Context())
	metrics.RecordRequestTermination(req, info, metricsComponent, http.StatusServiceUnavailable)
}

// failing answers requests to which the other server gave no answer.
type failing struct{ *remoteAPI }

// Error implements proxy.ErrorResponder. It counts the request in apiserver_request_terminations_total only if the
// other server isn't available, because kube-apiserver refuses and counts requests for such a server. Other failures,
// such as a client that is gone, aren't counted here.
func (f failing) Error(w http.ResponseWriter, req *http.Request, err error) {
	if f.available.Load() {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	f.fail(w, req, err)
}
