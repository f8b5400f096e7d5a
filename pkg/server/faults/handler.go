package faults

import (
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"

	"github.com/miniapi-dev/miniapi/pkg/admission/admissionwebhook"
)

// off is the value of the HTTP header Header in a request that must not meet faults.
const off = "off"

// Without returns a transport whose requests meet no faults.
func Without(rt http.RoundTripper) http.RoundTripper { return without{rt} }

type without struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (w without) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set(Header, off)
	return w.RoundTripper.RoundTrip(req)
}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (w without) WrappedRoundTripper() http.RoundTripper { return w.RoundTripper }

// Handler returns a handler that injects faults into authenticated and authorized requests, and calls next. If there
// are no faults, the handler only records open watches, because later faults may end them.
func (i *Injector) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := request.RequestInfoFrom(req.Context())
		watching := ok && info.IsResourceRequest && info.Verb == "watch"
		if i.rules.current.Load() == nil && !watching {
			next.ServeHTTP(w, req)
			return
		}
		s, ok := subjectOf(req)
		if !ok || req.Header.Get(Header) == off {
			next.ServeHTTP(w, req)
			return
		}
		v := &visit{Injector: i, subject: s, events: &events{}, next: next}
		defer v.events.annotate(req.Context())
		if watching {
			v.watch(w, req)
			return
		}
		v.serve(v.marked(w), req, i.rules.current.Load())
	})
}

// visit is a request that passes through the Injector.
type visit struct {
	*Injector
	subject *subject
	events  *events
	next    http.Handler
}

// serve serves a request that isn't a watch.
func (v *visit) serve(w http.ResponseWriter, req *http.Request, current *inForce) {
	if current == nil { // there are no faults in force any more
		v.next.ServeHTTP(w, req)
		return
	}
	met := v.meet(req, current)
	if len(current.webhooks) > 0 {
		req = req.WithContext(admissionwebhook.WithInterceptor(req.Context(), v.interceptor(current.webhooks)))
	}
	v.respond(w, req, met)
}

// respond serves a request with the effect of a fault. If met is nil, the request has no fault.
func (v *visit) respond(w http.ResponseWriter, req *http.Request, met *injection) {
	switch {
	case met == nil || met.effect == none:
		v.next.ServeHTTP(w, req)
		return
	case req.Context().Err() != nil: // the request ended during the latency, and needs no answer any more
		return
	}
	switch met.effect {
	case truncate:
		v.truncate(w, req, *met.fault.Truncate)
	case stale:
		outdated, err := v.outdated(req, met.staleness)
		if err != nil {
			fail(w, req, v.config.Serializer, err)
			return
		}
		v.next.ServeHTTP(w, outdated)
	case reset:
		v.execute(met, req)
		if met.fault.Reset == resetConnection {
			v.config.Abort(req)
		}
		abort()
	default:
		v.execute(met, req)
		fail(w, req, v.config.Serializer, met.answer())
	}
}

// meet returns the fault that a request meets, or nil. It first waits for the fault's latency. The end of the request or
// the beginning of a stop ends the wait.
func (v *visit) meet(req *http.Request, current *inForce) *injection {
	met := current.requests.inject(v.subject)
	if met == nil {
		return nil
	}
	record(req.Context(), v.events, met)
	if met.delay > 0 {
		wait(req.Context(), v.config.Stopping, met.delay)
	}
	return met
}

// execute serves a request and drops its response, if the fault's field Executed is true.
func (v *visit) execute(met *injection, req *http.Request) {
	if met.fault.Executed {
		v.next.ServeHTTP(&discarded{header: http.Header{}}, req)
	}
}

// marked returns a response with the header Miniapi-Fault, which names the faults that the request has met.
func (v *visit) marked(w http.ResponseWriter) http.ResponseWriter {
	return responsewriter.WrapForHTTP1Or2(&marking{ResponseWriter: w, events: v.events})
}
