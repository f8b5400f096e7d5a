package trial

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
)

// The content types of bodies.
const (
	JSON           = "application/json"
	JSONPatch      = "application/json-patch+json"
	MergePatch     = "application/merge-patch+json"
	StrategicPatch = "application/strategic-merge-patch+json"
	ApplyPatch     = "application/apply-patch+yaml"
)

// Request is a request to the server.
type Request struct {
	Verb, Path string
	// Query has query parameters, such as dryRun=All.
	Query []string
	// Type is the content type of the body. The default is JSON.
	Type   string
	Body   any
	Header http.Header
}

// Answer is the response of the server to a request.
type Answer struct {
	Code   int
	Header http.Header
	Body   []byte
	// Object is the decoded body, or nil if the body isn't a JSON object.
	Object Object
	// Took is the time from the beginning of the request to the end of the response.
	Took time.Duration

	t *T
}

// Do sends a request, and returns the answer even if it is an error. If there is no answer, the case fails.
func (t *T) Do(r Request) *Answer {
	t.mu.Lock()
	t.sent = r.words()
	t.mu.Unlock()
	t.catchUp(r)
	began := time.Now()
	a, err := t.Server.do(t.Context(), r)
	if err != nil {
		if cause := context.Cause(t.Context()); cause != nil {
			err = cause
		}
		t.FailNow("an answer", err.Error())
	}
	a.t, a.Took = t, time.Since(began)
	t.remember(r, a)
	return a
}

// Try sends a request, and returns the answer, or the error if there is no answer. Handlers of webhooks may call Try,
// because Try never ends the case. Findings don't quote this request.
func (t *T) Try(r Request) (*Answer, error) {
	began := time.Now()
	a, err := t.Server.do(t.Context(), r)
	if err != nil {
		return nil, err
	}
	a.t, a.Took = t, time.Since(began)
	return a, nil
}

// catchUp is called before a request is sent. If the request changes or deletes an object, catchUp waits until the
// server's cache has the case's last write of that object. Otherwise the server may review the request twice: with an
// outdated object first, and with the current object after a conflict.
func (t *T) catchUp(r Request) {
	if r.Verb == http.MethodGet || r.Verb == http.MethodPost {
		return
	}
	t.mu.Lock()
	path := objectPath(r.Path)
	version := t.versions[path]
	if version == "" && r.Verb == http.MethodDelete {
		// Before the deletion of a collection, wait for the last write of any object in the collection.
		version = t.versions[collection(path)]
	}
	t.mu.Unlock()
	if version != "" {
		// The error of this read is ignored. If the cause persists, the write also fails.
		_, _ = t.Server.do(t.Context(), Request{Verb: http.MethodGet, Path: path, Query: []string{"resourceVersion=" + version}})
	}
}

// objectPath returns a path without the subresource status, scale or finalize.
func objectPath(path string) string {
	for _, subresource := range []string{"/status", "/scale", "/finalize"} {
		path = strings.TrimSuffix(path, subresource)
	}
	return path
}

// collection returns the key in T.versions for the last write of any object in a collection.
func collection(path string) string { return path + "/*" }

// words returns the request as text, for a finding.
func (r *Request) words() string {
	line := r.Verb + " " + r.target()
	if r.Body == nil {
		return line
	}
	if r.Type != "" {
		line += " (" + r.Type + ")"
	}
	return line + "\n" + text(r.Body)
}

func (r *Request) target() string {
	if len(r.Query) == 0 {
		return r.Path
	}
	pairs := make([]string, len(r.Query))
	for i, pair := range r.Query {
		key, value, _ := strings.Cut(pair, "=")
		pairs[i] = key + "=" + url.QueryEscape(value)
	}
	return r.Path + "?" + strings.Join(pairs, "&")
}

// open sends a request and returns the response. The caller must close the body.
func (s *Server) open(ctx context.Context, r Request) (*http.Response, error) {
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(encoded(r.Body))
	}
	request, err := http.NewRequestWithContext(ctx, r.Verb, strings.TrimSuffix(s.base.String(), "/")+r.target(), body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", JSON)
	if body != nil {
		request.Header.Set("Content-Type", JSON)
		if r.Type != "" {
			request.Header.Set("Content-Type", r.Type)
		}
	}
	for key, values := range r.Header {
		request.Header[key] = values
	}
	return s.http.Do(request)
}

func (s *Server) do(ctx context.Context, r Request) (*Answer, error) {
	response, err := s.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("the body of the answer to %s %s: %w", r.Verb, r.target(), err)
	}
	return &Answer{Code: response.StatusCode, Header: response.Header, Body: data, Object: decoded(data)}, nil
}

// says returns the code and the message of an answer as text, for findings.
func (a *Answer) says() string {
	if message := a.Object.Text("message"); message != "" {
		return fmt.Sprintf("%d %s: %s", a.Code, a.Object.Text("reason"), message)
	}
	body := string(a.Body)
	if len(body) > 500 {
		body = body[:500] + "…"
	}
	return fmt.Sprintf("%d %s", a.Code, body)
}

// Succeeded tells whether the status code of the answer is 2xx.
func (a *Answer) Succeeded() bool { return a.Code >= 200 && a.Code < 300 }

// OK returns the object of an answer. If the answer is an error, the case fails.
func (a *Answer) OK() Object {
	if !a.Succeeded() {
		a.t.FailNow("the request is accepted", a.says())
	}
	return a.Object
}

// Refused returns the Status of an answer. The case fails if the answer has another code, or if its message lacks one
// of the words.
func (a *Answer) Refused(code int, words ...string) Object {
	if a.Code != code {
		a.t.FailNow(fmt.Sprintf("the request is refused with code %d", code), a.says())
	}
	for _, word := range words {
		a.t.Contains("the message of the refusal", word, a.Object.Text("message"))
	}
	return a.Object
}

// Warnings returns the values of the Warning headers.
func (a *Answer) Warnings() []string {
	return slices.Clone(a.Header.Values("Warning"))
}

// Create posts an object to its collection. If the resource is a subresource, Create posts o to the subresource of the
// stored object that has the name of o.
func (t *T) Create(r Resource, o Object, query ...string) *Answer {
	name := ""
	if r.Subresource != "" {
		name = o.Name()
	}
	return t.Do(Request{Verb: http.MethodPost, Path: t.Path(r, name), Query: query, Body: o})
}

// Get reads an object.
func (t *T) Get(r Resource, name string, query ...string) *Answer {
	return t.Do(Request{Verb: http.MethodGet, Path: t.Path(r, name), Query: query})
}

// List reads a collection.
func (t *T) List(r Resource, query ...string) *Answer { return t.Get(r, "", query...) }

// Update puts an object.
func (t *T) Update(r Resource, o Object, query ...string) *Answer {
	return t.Do(Request{Verb: http.MethodPut, Path: t.Path(r, o.Name()), Query: query, Body: o})
}

// Patch patches an object.
func (t *T) Patch(r Resource, name, contentType string, patch any, query ...string) *Answer {
	return t.Do(Request{Verb: http.MethodPatch, Path: t.Path(r, name), Query: query, Type: contentType, Body: patch})
}

// Apply applies an object as a field manager.
func (t *T) Apply(r Resource, o Object, manager string, query ...string) *Answer {
	return t.Patch(r, o.Name(), ApplyPatch, o, append([]string{"fieldManager=" + manager}, query...)...)
}

// Delete deletes an object, or a collection if the name is "". Options may be nil.
func (t *T) Delete(r Resource, name string, options any, query ...string) *Answer {
	return t.Do(Request{Verb: http.MethodDelete, Path: t.Path(r, name), Query: query, Body: options})
}

// Path returns the path of an object. A namespaced object is in the namespace that the resource names, or else in the
// case's namespace.
func (t *T) Path(r Resource, name string) string {
	namespace := r.namespace
	if r.Namespaced && namespace == "" {
		namespace = t.Namespace()
	}
	return r.path(namespace, name)
}

// fatal ends the case with a finding about an error that isn't an answer of the server.
func (t *T) fatal(doing string, err error) {
	t.Fatal(conformance.Finding{Sent: t.last(), Expected: doing, Seen: err.Error()})
}
