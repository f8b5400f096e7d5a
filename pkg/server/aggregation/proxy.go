package aggregation

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
	apiserverproxy "k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/client-go/transport"
	"k8s.io/streaming/pkg/httpstream"
)

// ServeHTTP passes a request on to the server, with the identity of who asks. It tries even if the last check
// failed: who has just started the server needn't wait for the next one.
func (r *remoteAPI) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	asking, ok := request.UserFrom(req.Context())
	if !ok {
		responsewriters.InternalError(w, req, fmt.Errorf("APIService %s: it isn't known who asks", r.service.Name))
		return
	}
	if !r.available.Load() {
		r.checkSoon()
	}
	host, err := r.host()
	if err != nil {
		r.fail(w, req, err)
		return
	}
	t, err := r.transport()
	if err != nil {
		r.fail(w, req, err)
		return
	}
	ctx, end := context.WithCancel(req.Context())
	defer end()
	defer context.AfterFunc(r.life, func() { time.AfterFunc(stopTimeout, end) })()
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
	identified := transport.NewAuthProxyRoundTripper(asking.GetName(), uid, asking.GetGroups(), asking.GetExtra(), t)
	handler := proxy.NewUpgradeAwareHandler(&location, identified, true, upgrade, failing{r})
	handler.RejectForwardingRedirects = !r.config.Redirects
	utilflowcontrol.RequestDelegated(req.Context())
	handler.ServeHTTP(w, proxied)
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

// fail says that the server isn't there.
func (r *remoteAPI) fail(w http.ResponseWriter, req *http.Request, err error) {
	s := r.service.Spec.Service
	unavailable := apierrors.NewServiceUnavailable(fmt.Sprintf("APIService %s is served by service %s/%s, which can't be reached: %v",
		r.service.Name, s.Namespace, s.Name, err))
	responsewriters.ErrorNegotiated(unavailable, r.config.Serializer, schema.GroupVersion{}, w, req)
}

// failing says why a request wasn't passed on.
type failing struct{ *remoteAPI }

// Error implements proxy.ErrorResponder.
func (f failing) Error(w http.ResponseWriter, req *http.Request, err error) { f.fail(w, req, err) }
