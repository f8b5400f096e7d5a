package integration_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// collected is a collector of OpenTelemetry spans. It keeps the spans that it gets.
type collected struct {
	collector.UnimplementedTraceServiceServer
	mu    sync.Mutex
	spans []*spans.Span
}

// Export implements collector.TraceServiceServer.
func (c *collected) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// lines returns the spans and their events as text. A span has its name and the name of its parent. An event has the
// attributes webhook, policy, why and outcome.
func (c *collected) lines() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := map[string]string{}
	for _, span := range c.spans {
		names[string(span.SpanId)] = span.Name
	}
	lines := map[string]bool{}
	for _, span := range c.spans {
		lines[names[string(span.ParentSpanId)]+" > "+span.Name] = true
		for _, event := range span.Events {
			text := span.Name + ": " + event.Name
			for _, attribute := range event.Attributes {
				switch attribute.Key {
				case "webhook", "policy", "why", "outcome":
					text += fmt.Sprintf(" %s=%s", attribute.Key, attribute.Value.GetStringValue())
				}
			}
			lines[text] = true
		}
	}
	return lines
}

// With --tracing-config-file, a sampled request has spans for the rounds and plugins of admission. Spans for calls of
// webhooks are children of the plugins' spans. The spans don't need the record of requests. The server's requests to
// itself have the spans of a client, too.
func TestSpansOfAdmission(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	got, service := &collected{}, grpc.NewServer()
	collector.RegisterTraceServiceServer(service, got)
	go service.Serve(listener) //nolint:errcheck // returns at Stop
	t.Cleanup(service.Stop)
	config := write(t, "tracing.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nsamplingRatePerMillion: 1000000\n"+
		"endpoint: "+listener.Addr().String()+"\n")
	srv := miniapitest.Start(t, inprocess.WithServerOptions(func(o *server.Options) { o.Tracing.ConfigFile = config }))
	install(t, srv, mutating("a", patch(miniapitest.Add("/data", map[string]string{"a": "1"}))), mutating("b", allow(), on("UPDATE", "v1", "configmaps")))
	enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named("p"), Spec: validations(admissionregistrationv1.Validation{Expression: "true"})},
		admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}})
	ok(t, askedFor("default", unchangedConfigMap)(t.Context(), srv))

	want := []string{
		// The server creates this object at its start, by a request to itself.
		"HTTP POST > POST /apis/networking.k8s.io/v1/ipaddresses",
		"Admission, mutating > Admission plugin MutatingAdmissionWebhook",
		"Admission, validating > Admission plugin ValidatingAdmissionPolicy",
		"Admission plugin MutatingAdmissionWebhook > Call mutating webhook",
		"Admission plugin MutatingAdmissionWebhook: Webhook considered why=webhooks[0].rules[0] matches webhook=MutatingWebhookConfiguration/a/a.example.com outcome=allowed",
		`Admission plugin MutatingAdmissionWebhook: Webhook considered why=webhooks[0].rules[0].operations is ["UPDATE"], and the operation is CREATE webhook=MutatingWebhookConfiguration/b/b.example.com`,
		"Admission plugin MutatingAdmissionWebhook: Object changed by webhook MutatingWebhookConfiguration/a/a.example.com",
		"Admission plugin ValidatingAdmissionPolicy: Policy evaluated why=it matches policy=p outcome=allowed",
	}
	eventually(t, func(context.Context) error {
		lines := got.lines()
		var missing []string
		for _, line := range want {
			if !lines[line] {
				missing = append(missing, line)
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("the collector lacks these spans and events, and has %d others:\n%s", len(lines), strings.Join(missing, "\n"))
		}
		return nil
	})
	if requests := recorded(t, srv, "configmaps"); len(requests) > 0 {
		t.Errorf("want no request to be remembered, got %d", len(requests))
	}
}
