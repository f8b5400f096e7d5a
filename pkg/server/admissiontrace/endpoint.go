package admissiontrace

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

const (
	// Prefix is the path of the web page, and the beginning of all paths of this package. A user needs permission for
	// the verb get on these nonResourceURLs, and for the verb post on WhyPath and SignInPath.
	Prefix = "/debug/admission/"
	// RequestsPath lists recorded requests, as a List. The parameters resource, namespace, name and user select
	// requests, and limit=N selects the last N. With follow=true, the response is a stream of Events, one in each
	// line, for requests that end after the beginning of the stream. With output=text or output=wide, the response is
	// text for people.
	RequestsPath = Prefix + "requests"
)

// List is the answer of RequestsPath.
type List struct {
	// Recording is true if requests are recorded even while no client follows them.
	Recording bool             `json:"recording"`
	Requests  []*trace.Request `json:"requests"`
}

// Event is a line of the stream of RequestsPath.
type Event struct {
	// Missed is the number of requests that the recorder dropped before it could send them. They came before Request.
	Missed int64 `json:"missed,omitempty"`
	// Request may be nil in an event with Missed.
	Request *trace.Request `json:"request,omitempty"`
}

// ServeHTTP serves the paths below Prefix.
func (t *Trace) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	serve := map[string]func(http.ResponseWriter, *http.Request) error{
		http.MethodGet + Prefix:       show,
		http.MethodGet + SignInPath:   t.signIns.open,
		http.MethodPost + SignInPath:  t.signIns.link,
		http.MethodGet + MatrixPath:   t.matrix,
		http.MethodGet + RequestsPath: t.requests,
		http.MethodGet + WhyPath:      t.why,
		http.MethodPost + WhyPath:     t.evaluateWhy,
	}[req.Method+req.URL.Path]
	if serve == nil {
		serve = func(http.ResponseWriter, *http.Request) error {
			return statusOf(&trace.Error{
				Code: http.StatusNotFound, Reason: string(metav1.StatusReasonNotFound),
				Message: fmt.Sprintf("%s %s isn't served: the server serves GET %s, GET %s, GET %s, and GET and POST %s and %s",
					req.Method, req.URL.Path, Prefix, RequestsPath, MatrixPath, WhyPath, SignInPath),
			})
		}
	}
	if err := serve(w, req); err != nil {
		responsewriters.ErrorNegotiated(err, t.Serializer, schema.GroupVersion{}, w, req)
	}
}

// IsFollowing tells whether a request asks for the stream of recorded requests. The stream ends only when the client is
// gone or a stop of the server begins.
func IsFollowing(req *http.Request) bool {
	return req.URL.Path == RequestsPath && req.URL.Query().Get("follow") == "true"
}

// filterOf makes a filter from the query parameters of a request. The parameter resource may also be a singular name or
// a kind.
func (t *Trace) filterOf(req *http.Request) recorder.Filter {
	query := req.URL.Query()
	filter := recorder.Filter{Resource: query.Get("resource"), Namespace: query.Get("namespace"), Name: query.Get("name"), User: query.Get("user")}
	name, subresource, hasSubresource := strings.Cut(strings.ToLower(filter.Resource), "/")
	asked := schema.ParseGroupResource(name)
	found, err := t.Mapper.ResourceFor(asked.WithVersion(""))
	if filter.Resource == "" || err != nil {
		return filter // a recorded request may be for a resource that isn't served any more
	}
	resource := trace.Resource{Group: asked.Group, Resource: found.Resource}
	if hasSubresource {
		resource.Subresource = subresource
	}
	filter.Resource = resource.String()
	if kind, err := t.Mapper.KindFor(found); err == nil {
		mapping, err := t.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot {
			filter.Namespace = ""
		}
	}
	return filter
}

// requests serves RequestsPath.
func (t *Trace) requests(w http.ResponseWriter, req *http.Request) error {
	if IsFollowing(req) {
		return t.follow(w, req)
	}
	filter := t.filterOf(req)
	if text := req.URL.Query().Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 {
			return apierrors.NewBadRequest(fmt.Sprintf("limit=%q: must be a number from 1", text))
		}
		filter.Last = limit
	}
	selected := t.Recorder.Requests(filter)
	switch output := req.URL.Query().Get("output"); output {
	case "", "json":
		return answer(w, List{t.Recorder.Keeps(), append([]*trace.Request{}, selected...)})
	case "text", "wide":
		detail := trace.Brief
		if output == "wide" {
			detail = trace.Wide
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		for _, request := range selected {
			if err := trace.WriteTimeline(w, request, detail); err != nil {
				return nil // an error means that the client is gone
			}
		}
		return nil
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("output=%q: must be json, text or wide", output))
	}
}

// follow streams recorded requests until the client is gone or a stop of the server begins.
func (t *Trace) follow(w http.ResponseWriter, req *http.Request) error {
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	defer context.AfterFunc(t.Following, cancel)()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	encoder := json.NewEncoder(w)
	_ = t.Recorder.Follow(ctx, t.filterOf(req), http.NewResponseController(w).Flush, func(request *trace.Request, missed int64) error {
		return encoder.Encode(Event{Request: request, Missed: missed})
	})
	return nil // the response has begun, so no error can be sent
}

func answer(w http.ResponseWriter, value any) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(encoded, '\n')) // the client may have gone
	return nil
}
