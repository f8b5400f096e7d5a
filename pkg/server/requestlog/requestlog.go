// Package requestlog tells of the requests of clients when they are answered. Don't use it for what a request changed:
// that is for package audit.
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

// Request is a request that was answered.
type Request struct {
	// Received is when the request came, and Took is the time until it was answered or its watch ended.
	Received time.Time
	Took     time.Duration
	// Verb is that of the API, such as list, or that of HTTP for a path that is no resource's.
	Verb string
	// URI is the path and the query.
	URI string
	// Code is the HTTP status of the answer, 101 for a connection that was upgraded.
	Code int
	// User is the name of the authenticated user, "" if there is none. As is the user that the request asks to be
	// served as, "" if it doesn't.
	User, As string
	// UserAgent is what the client calls itself.
	UserAgent string
}

// authenticatedName is the name of the user of a request. The authenticator may be in another goroutine when the
// request has timed out.
type authenticatedName struct{ atomic.Pointer[string] }

type authenticatedNameKey struct{}

// Handler is a handler chain that tells log of the requests of clients, but not of the server's own. It leaves the chain
// as it is if log is nil. The chain authenticates with an Authenticator.
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
		defer func() { // also if the handler panics to cut the connection
			told.Took, told.Code = time.Since(told.Received), recorded.code
			if user := name.Load(); user != nil {
				told.User = *user
			}
			log(told)
		}()
		chain.ServeHTTP(responsewriter.WrapForHTTP1Or2(recorded), req.WithContext(context.WithValue(req.Context(), authenticatedNameKey{}, name)))
	})
}

// Authenticator notes the user of a request, whether the request is served or not.
type Authenticator struct{ authenticator.Request }

// AuthenticateRequest implements authenticator.Request.
func (a Authenticator) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	response, ok, err := a.Request.AuthenticateRequest(req)
	if name, logged := req.Context().Value(authenticatedNameKey{}).(*authenticatedName); logged && ok {
		name.Store(new(response.User.GetName()))
	}
	return response, ok, err
}

// codeRecorder keeps the status of an answer.
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
