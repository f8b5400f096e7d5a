// Package requestlog reports the end of each request of a client, for a log. [Handler] makes the handler that reports.
// Don't use the package to record the changes that requests make: see package audit.
package requestlog

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/miniapi-dev/miniapi/pkg/server/loopback"
)

// Request describes a request that has ended.
type Request struct {
	// Received is the time when the server received the request. Took is the time until the end of the response, or
	// until the end of a watch.
	Received time.Time
	Took     time.Duration
	// Verb is the verb of the API, such as list. If the path doesn't belong to a resource, Verb is the HTTP method in
	// lower case.
	Verb string
	// URI is the path and the query.
	URI string
	// Code is the HTTP status of the response, 101 for an upgraded connection. It is 0 if the request ended before a
	// status was written.
	Code int
	// User is the name of the authenticated user, or "". As is the name of the impersonated user, or "".
	User, As string
	// UserAgent is the client's User-Agent.
	UserAgent string
}

// authenticatedName is the name of a request's user. It is atomic because the authenticator may still run in another
// goroutine after a timeout of the request.
type authenticatedName struct{ atomic.Pointer[string] }

type authenticatedNameKey struct{}

// Handler returns a handler that calls log after each request of a client. It doesn't call log for the server's own
// requests. If log is nil, it returns chain. The authenticator of chain must be an Authenticator.
func Handler(chain http.Handler, config *genericapiserver.Config, log func(Request)) http.Handler {
	if log == nil {
		return chain
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if loopback.IsOwn(w) {
			chain.ServeHTTP(w, req)
			return
		}
		name := &authenticatedName{}
		recorded := &codeRecorder{ResponseWriter: w}
		told := Request{Received: time.Now(), URI: req.RequestURI, As: req.Header.Get(authenticationv1.ImpersonateUserHeader), UserAgent: req.UserAgent()}
		if info, err := config.RequestInfoResolver.NewRequestInfo(req); err == nil {
			told.Verb = info.Verb
		}
		defer func() { // log the request even if the handler panics to break the response off
			told.Took, told.Code = time.Since(told.Received), recorded.code
			if user := name.Load(); user != nil {
				told.User = *user
			}
			log(told)
		}()
		chain.ServeHTTP(responsewriter.WrapForHTTP1Or2(recorded), req.WithContext(context.WithValue(req.Context(), authenticatedNameKey{}, name)))
	})
}

// Authenticator records the user of each request, including requests that are refused later.
type Authenticator struct{ authenticator.Request }

// AuthenticateRequest implements authenticator.Request.
func (a Authenticator) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	response, ok, err := a.Request.AuthenticateRequest(req)
	if name, logged := req.Context().Value(authenticatedNameKey{}).(*authenticatedName); logged && ok {
		name.Store(new(response.User.GetName()))
	}
	return response, ok, err
}

// codeRecorder is a response that records its status code.
type codeRecorder struct {
	http.ResponseWriter
	code int
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (r *codeRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Hijack implements http.Hijacker.
func (r *codeRecorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	r.code = http.StatusSwitchingProtocols
	return http.NewResponseController(r.ResponseWriter).Hijack()
}

// WriteHeader implements http.ResponseWriter.
func (r *codeRecorder) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
	r.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (r *codeRecorder) Write(p []byte) (int, error) {
	if r.code == 0 {
		r.code = http.StatusOK
	}
	return r.ResponseWriter.Write(p)
}
