package faults

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/audit"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

const (
	// Header is a header of the response to a request that met faults. It appears once for each fault that the request
	// met before the response began, with the fault's name and effect. In a request, its value "off" keeps faults away.
	Header = "Miniapi-Fault"
	// Annotation is the annotation with the faults of a request in its audit event.
	Annotation = "faults.miniapi.dev/injected"
)

// Event records that a request, or a call of a webhook, met a fault.
type Event struct {
	// Fault is the name of the fault. Effect is the fault's effect, such as "conflict" or "status 503", or "" for a
	// fault that has only a latency.
	Fault, Effect string
	// Number is the number of the request among the requests that the fault selects.
	Number uint64
	// Delay is the latency that the fault added.
	Delay time.Duration
	// Webhook and Configuration name the webhook if the fault was injected into a call. Both are empty if it was
	// injected into the request itself.
	Webhook, Configuration string
}

// String returns the event as text, such as "third: conflict at request 3".
func (e Event) String() string {
	var effects []string
	if e.Delay > 0 {
		effects = append(effects, "latency "+e.Delay.String())
	}
	if e.Effect != "" {
		effects = append(effects, e.Effect)
	}
	of := fmt.Sprintf("request %d", e.Number)
	if e.Webhook != "" {
		of = fmt.Sprintf("call %d of webhook %s/%s", e.Number, e.Configuration, e.Webhook)
	}
	return fmt.Sprintf("%s: %s at %s", e.Fault, strings.Join(effects, ", "), of)
}

func (i *injection) event() Event {
	e := Event{
		Fault: i.fault.Name, Effect: string(i.effect), Number: i.number, Delay: i.delay,
		Webhook: i.subject.webhook, Configuration: i.subject.configuration,
	}
	if i.effect == status {
		e.Effect = fmt.Sprintf("%s %d", status, i.fault.Status)
	}
	return e
}

// traced returns the event in the form of package trace.
func (e Event) traced() trace.Fault {
	return trace.Fault{Name: e.Fault, Effect: e.Effect, Latency: trace.Duration(e.Delay), Number: e.Number}
}

// events collects the texts of the faults that a request has met, for its audit event and its response.
type events struct {
	mu    sync.Mutex
	texts []string
}

func (s *events) add(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts = append(s.texts, e.String())
}

func (s *events) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.texts)
}

func (s *events) addTo(header http.Header) { header[Header] = s.all() }

func (s *events) annotate(ctx context.Context) {
	if events := s.all(); len(events) > 0 {
		audit.AddAuditAnnotation(ctx, Annotation, strings.Join(events, "; "))
	}
}

// record adds an event to the request's events and to its trace.
func record(ctx context.Context, events *events, made *injection) {
	e := made.event()
	events.add(e)
	if scope := recorder.From(ctx); scope != nil {
		scope.Injected(e.traced(), made.subject.objectName())
	}
}

// marking is a response with the header Miniapi-Fault. The header has a value for each fault that the request met
// before the response began.
type marking struct {
	http.ResponseWriter
	events *events
	code   int
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (m *marking) Unwrap() http.ResponseWriter { return m.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (m *marking) WriteHeader(code int) {
	if m.code == 0 {
		m.code = code
		m.events.addTo(m.Header())
	}
	m.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (m *marking) Write(p []byte) (int, error) {
	if m.code == 0 {
		m.WriteHeader(http.StatusOK)
	}
	return m.ResponseWriter.Write(p)
}
