package miniapitest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

const (
	// traceFlag makes a server record the last 1000 requests.
	traceFlag = "--trace-requests=1000"
	// tracePath is the path of a server's recorded requests. whyPath is the path of the answers that Why returns.
	tracePath = "/debug/admission/requests"
	whyPath   = "/debug/admission/why"
	// traceTimeout is the largest duration of a request for the recorded decisions.
	traceTimeout = 30 * time.Second
)

// WithTrace makes the server record the decisions of admission about the last 1000 requests. Server.Admission returns
// the records.
func WithTrace() Option { return WithFlags(traceFlag) }

// Admission has the recorded decisions of admission about the requests of a server with WithTrace. Its methods take the
// name of an object in the form of "miniapi trace --for": RESOURCE, RESOURCE/NAME or RESOURCE/NAMESPACE/NAME, such as
// configmaps/default/a. They take the name of a webhook in the form KIND/NAME of its configuration, or
// KIND/NAME/WEBHOOK. A policy is named in the same way: ValidatingAdmissionPolicy/NAME, or with a binding
// ValidatingAdmissionPolicy/NAME/BINDING. A policy that was evaluated counts as called.
type Admission struct{ server *Server }

// Admission returns the recorded decisions of admission. The server must have been started with WithTrace.
func (s *Server) Admission() *Admission { return &Admission{s} }

// Requests returns the recorded requests for the objects, in the order in which they ended. Without an object, it
// returns all requests.
func (a *Admission) Requests(objects ...string) ([]*trace.Request, error) {
	if len(objects) == 0 {
		return a.requests(tracedObject{})
	}
	seen := map[int64]bool{}
	var all []*trace.Request
	for _, text := range objects {
		object, err := parseTraced(text)
		if err != nil {
			return nil, err
		}
		requests, err := a.requests(object)
		if err != nil {
			return nil, err
		}
		for _, request := range requests {
			if !seen[request.ID] {
				seen[request.ID] = true
				all = append(all, request)
			}
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].ID < all[j].ID })
	return all, nil
}

// Last returns the last recorded request for an object. It returns an error if there is none.
func (a *Admission) Last(object string) (*trace.Request, error) {
	requests, err := a.Requests(object)
	if err != nil {
		return nil, err
	}
	if len(requests) == 0 {
		return nil, fmt.Errorf("the server has no recorded request for %q: check the name, and make the request first; the server keeps only the last requests", object)
	}
	return requests[len(requests)-1], nil
}

// Why explains, for each webhook of a configuration or each binding of a policy, why the server called it or not for
// the last request for an object. If no request for the object is recorded, the answers are for a request that would
// create the object as it is stored. If the object isn't stored either, the only answer has the reason NotRecorded.
func (a *Admission) Why(webhook, object string) ([]trace.Answer, error) {
	parsed, err := parseTraced(object)
	if err != nil {
		return nil, err
	}
	if parsed.name == "" {
		return nil, fmt.Errorf("object %q: must be RESOURCE/NAME or RESOURCE/NAMESPACE/NAME", object)
	}
	if parsed.namespace == "" {
		parsed.namespace = metav1.NamespaceDefault
	}
	var why struct {
		Answers []trace.Answer `json:"answers"`
	}
	request := parsed.parameters(a.get(whyPath)).Param("webhook", webhook)
	if err := decodeTraced(request, &why); err != nil {
		return nil, fmt.Errorf("asking the server why %s was called or not for %s: %w", webhook, object, err)
	}
	return why.Answers, nil
}

// Timeline returns a text with the events of the recorded requests for an object, or of all requests if the object is
// "".
func (a *Admission) Timeline(object string) (string, error) {
	parsed, err := parseTraced(object)
	if err != nil {
		return "", err
	}
	text, err := a.timeline(parsed.parameters(a.get(tracePath)), "wide")
	if err != nil {
		return "", fmt.Errorf("reading the timeline of %q: %w", object, err)
	}
	return text, nil
}

// timeline returns the timelines of the requests that the parameters of a request select. The output is "text", or "wide"
// for all admission plugins.
func (a *Admission) timeline(request *rest.Request, output string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), traceTimeout)
	defer cancel()
	result := request.Param("output", output).Do(ctx)
	if err := result.Error(); err != nil { // Error has the server's message, and the error of Raw lacks the message
		return "", err
	}
	text, err := result.Raw()
	return string(text), err
}

// reportFailed reports the timeline of the last recorded request that failed, and of later requests for the same object.
// It reports nothing if no such request is recorded, or if the server has stopped.
func (a *Admission) reportFailed(report func(format string, args ...any)) {
	all, err := a.requests(tracedObject{})
	if err != nil {
		return
	}
	var failed *trace.Request
	for _, request := range all {
		if request.Error != nil {
			failed = request
		}
	}
	if failed == nil {
		return
	}
	object := tracedObject{schema.GroupResource{Group: failed.Group, Resource: failed.Resource.Resource}.String(), failed.Namespace, failed.Name}
	same, err := a.requests(object)
	if err != nil {
		return
	}
	since := 0
	for _, request := range same {
		if request.ID >= failed.ID {
			since++
		}
	}
	timeline, err := a.timeline(object.parameters(a.get(tracePath)).Param("limit", strconv.Itoa(since)), "text")
	if err != nil {
		return
	}
	report("miniapitest: the last request that failed:\n%s", timeline)
}

// Called fails the test unless the webhook was called for the last request for the object. If webhook names a
// configuration, all its webhooks must have been called. The message has the sentence of the answer of Why, and the
// timeline.
func (a *Admission) Called(t testing.TB, webhook, object string) {
	t.Helper()
	for _, answer := range a.answers(t, webhook, object) {
		if !answer.Called || answer.Evaluated {
			a.fail(t, object, "want a call: %s", answer.Sentence)
		}
	}
}

// NotCalled fails the test if the webhook was called for the last request for the object. It also fails the test if the
// reason why the webhook wasn't called differs from the argument reason. docs/trace.md lists the reasons; "" stands
// for any reason but NotRecorded. If webhook names a configuration, NotCalled checks all its webhooks.
func (a *Admission) NotCalled(t testing.TB, webhook, object string, reason trace.Reason) {
	t.Helper()
	for _, answer := range a.answers(t, webhook, object) {
		switch {
		case answer.Called || answer.Evaluated:
			a.fail(t, object, "want a request without a call: %s", answer.Sentence)
		case reason == "" && answer.Verdict.Reason == trace.NotRecorded:
			a.fail(t, object, "want a request for %s: %s", object, answer.Sentence)
		case reason != "" && answer.Verdict.Reason != reason:
			a.fail(t, object, "want the reason %s, got %s: %s", reason, answer.Verdict.Reason, answer.Sentence)
		}
	}
}

// Admitted fails the test unless the last request for the object has a successful response.
func (a *Admission) Admitted(t testing.TB, object string) {
	t.Helper()
	if last := a.last(t, object); last != nil && (last.Error != nil || last.Code == 0) {
		a.fail(t, object, "want a successful request for %s, got status %d%s", object, last.Code, messageOf(last))
	}
}

// Refused fails the test unless a given part of admission refused the last request for the object. The part is a
// webhook configuration or a policy (KIND/NAME), a webhook (KIND/NAME/WEBHOOK), or an admission plugin.
func (a *Admission) Refused(t testing.TB, object, by string) {
	t.Helper()
	last := a.last(t, object)
	if last == nil {
		return
	}
	refusal := last.Refused()
	switch {
	case refusal == nil:
		a.fail(t, object, "want %s to refuse the request for %s, got status %d%s", by, object, last.Code, messageOf(last))
	case !refusal.Is(by):
		a.fail(t, object, "want %s to refuse the request for %s, got a refusal by %s: %s", by, object, refusal.By(), refusal.Error.Message)
	}
}

func messageOf(request *trace.Request) string {
	if request.Error == nil {
		return ""
	}
	return ": " + request.Error.Message
}

// fail fails a test with a message and the timeline of an object.
func (a *Admission) fail(t testing.TB, object, format string, args ...any) {
	t.Helper()
	timeline, err := a.Timeline(object)
	if err != nil {
		timeline = err.Error() + "\n"
	}
	t.Errorf("%s\n%s", fmt.Sprintf(format, args...), timeline)
}

// answers returns the answers of Why, and fails the test if Why returns an error.
func (a *Admission) answers(t testing.TB, webhook, object string) []trace.Answer {
	t.Helper()
	answers, err := a.Why(webhook, object)
	if err != nil {
		t.Error(err)
	}
	return answers
}

// last returns the last request for an object. If the method Last returns an error, last fails the test and returns
// nil.
func (a *Admission) last(t testing.TB, object string) *trace.Request {
	t.Helper()
	last, err := a.Last(object)
	if err != nil {
		t.Error(err)
	}
	return last
}

func (a *Admission) requests(object tracedObject) ([]*trace.Request, error) {
	var list struct {
		Recording bool             `json:"recording"`
		Requests  []*trace.Request `json:"requests"`
	}
	if err := decodeTraced(object.parameters(a.get(tracePath)), &list); err != nil {
		return nil, fmt.Errorf("reading the recorded requests: %w", err)
	}
	if !list.Recording {
		return nil, errors.New("the server records no requests: start the server with miniapitest.WithTrace()")
	}
	return list.Requests, nil
}

func (a *Admission) get(path string) *rest.Request {
	return a.server.Client().Discovery().RESTClient().Get().AbsPath(path)
}

func decodeTraced(request *rest.Request, into any) error {
	ctx, cancel := context.WithTimeout(context.Background(), traceTimeout)
	defer cancel()
	result := request.Do(ctx)
	if err := result.Error(); err != nil { // Error has the server's message, and the error of Raw lacks the message
		return err
	}
	body, err := result.Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// tracedObject is an object, all objects of a resource, or all objects.
type tracedObject struct{ resource, namespace, name string }

func (o tracedObject) parameters(request *rest.Request) *rest.Request {
	return request.Param("resource", o.resource).Param("namespace", o.namespace).Param("name", o.name)
}

// parseTraced parses RESOURCE, RESOURCE/NAME, RESOURCE/NAMESPACE/NAME, or "" for all objects.
func parseTraced(text string) (tracedObject, error) {
	parts := strings.Split(text, "/")
	for _, part := range parts {
		if part == "" && text != "" || len(parts) > 3 {
			return tracedObject{}, fmt.Errorf("object %q: must be RESOURCE, RESOURCE/NAME or RESOURCE/NAMESPACE/NAME", text)
		}
	}
	object := tracedObject{resource: parts[0]}
	if len(parts) > 1 {
		object.name = parts[len(parts)-1]
	}
	if len(parts) > 2 {
		object.namespace = parts[1]
	}
	return object, nil
}
