package openapi

import (
	"net/http"

	"k8s.io/kube-openapi/pkg/common"
)

// notFoundMux answers with status 404, no content and no header Vary if a handler below a prefix writes no response. For a version without
// a document, the OpenAPI v3 handler of kube-openapi writes nothing, which would be status 200.
type notFoundMux struct {
	common.PathHandlerByGroupVersion
}

// HandlePrefix implements common.PathHandlerByGroupVersion.
func (m notFoundMux) HandlePrefix(prefix string, handler http.Handler) {
	m.PathHandlerByGroupVersion.HandlePrefix(prefix, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		tracked := &trackedAnswer{ResponseWriter: w}
		handler.ServeHTTP(tracked, req)
		if !tracked.begun {
			w.Header().Del("Vary")
			w.WriteHeader(http.StatusNotFound)
		}
	}))
}

// trackedAnswer is a response that records whether the handler has begun to write it.
type trackedAnswer struct {
	http.ResponseWriter
	begun bool
}

func (a *trackedAnswer) WriteHeader(status int) {
	a.begun = true
	a.ResponseWriter.WriteHeader(status)
}

func (a *trackedAnswer) Write(content []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(content)
}
