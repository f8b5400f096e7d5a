package admissiontrace

import (
	"bytes"
	"context"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
)

// get reads an object by a request in this process.
func (e *evaluator) get(ctx context.Context, path string) (*unstructured.Unstructured, error) {
	response, err := e.do(ctx, http.MethodGet, path, nil, nil, func(*http.Request, *request.RequestInfo) error { return nil })
	if err != nil {
		return nil, err
	}
	if failure := failureOf(response.code, response.body.Bytes(), e.Decoder); failure != nil {
		return nil, statusOf(failure)
	}
	object := &unstructured.Unstructured{}
	return object, object.UnmarshalJSON(response.body.Bytes())
}

// do serves a request in this process, without a connection and without authorization. The request has the user of the
// context. do calls the function prepare first. If prepare returns an error, do returns that error and serves nothing.
func (e *evaluator) do(ctx context.Context, method, path string, parameters url.Values, body []byte, prepare func(*http.Request, *request.RequestInfo) error) (*answered, error) {
	// This request has its own audit event and its own recorder of warnings. So its annotations and warnings don't
	// appear in the audit event and the response of the client's request.
	ctx = warning.WithWarningRecorder(audit.WithAuditContext(ctx), noWarnings{})
	target := url.URL{Path: path, RawQuery: parameters.Encode()}
	req, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.RequestURI = req.URL.RequestURI()
	info, err := e.RequestInfo.NewRequestInfo(req)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := prepare(req, info); err != nil {
		return nil, err
	}
	w := &answered{header: http.Header{}}
	(*e.api.Load()).ServeHTTP(w, req.WithContext(request.WithRequestInfo(req.Context(), info)))
	return w, nil
}

// answered is the http.ResponseWriter of a request in process. It keeps the response.
type answered struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answered) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answered) WriteHeader(code int) {
	if a.code == 0 {
		a.code = code
	}
}

// Write implements http.ResponseWriter.
func (a *answered) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// Flush implements http.Flusher.
func (a *answered) Flush() { a.WriteHeader(http.StatusOK) }

type noWarnings struct{}

// AddWarning implements warning.Recorder.
func (noWarnings) AddWarning(string, string) {}
