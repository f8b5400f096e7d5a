package admission

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/component-base/tracing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// slowStep is the duration from which the span of a plugin or a round is also logged. k8s.io/apiserver logs slow
// requests in the same way.
const slowStep = 10 * time.Second

// spans adds a phase of admission, mutating or validating, to the OpenTelemetry trace of the request. Each round of
// plugins is a span: the reinvocation of the mutating plugins is a second round. Each plugin is a span below the span
// of its round, and each call of a webhook is a span below the span of its plugin. A webhook or policy that the
// plugin considered is an event of the plugin's span. A nil spans adds nothing.
type spans struct {
	number int // the number of the round whose span is open
	round  *tracing.Span
	// around is the span of the field round, in the type that oteltrace.ContextWithSpan takes.
	around oteltrace.Span
	plugin *tracing.Span
}

// newSpans returns nil if the context has no OpenTelemetry span that is being recorded.
func newSpans(ctx context.Context) *spans {
	if !oteltrace.SpanFromContext(ctx).IsRecording() {
		return nil
	}
	return &spans{}
}

// begin begins the span of a plugin. For the first plugin of a round, it begins the span of the round too.
func (s *spans) begin(ctx context.Context, a admission.Attributes, phase, plugin string, round int) context.Context {
	if s == nil {
		return ctx
	}
	if s.round == nil || s.number != round {
		s.end()
		var within context.Context
		within, s.round = tracing.Start(ctx, "Admission, "+phase,
			attribute.Int("round", round),
			attribute.String("operation", string(a.GetOperation())),
			attribute.Stringer("resource", a.GetResource()),
			attribute.String("subresource", a.GetSubresource()),
			attribute.String("namespace", a.GetNamespace()),
			attribute.String("name", a.GetName()),
			attribute.String("user", s.user(a)),
			attribute.Bool("dryRun", a.IsDryRun()))
		s.number, s.around = round, oteltrace.SpanFromContext(within)
	}
	ctx, s.plugin = tracing.Start(oteltrace.ContextWithSpan(ctx, s.around), "Admission plugin "+plugin,
		attribute.String("plugin", plugin), attribute.String("phase", phase), attribute.Int("round", round))
	return ctx
}

func (s *spans) user(a admission.Attributes) string {
	if info := a.GetUserInfo(); info != nil {
		return info.GetName()
	}
	return ""
}

// ended ends the span of a plugin, and adds the content of the plugin's step.
func (s *spans) ended(ctx context.Context, pass *recorder.Pass, step *trace.Step) {
	if s == nil {
		return
	}
	if step.Exempt != nil {
		s.plugin.AddEvent("Did nothing", verdict(*step.Exempt)...)
	}
	for _, webhook := range step.Webhooks {
		s.webhook(webhook)
	}
	for _, policy := range step.Policies {
		s.policy(policy)
	}
	before, after := pass.Change(step)
	s.changed("Object changed", before, after)
	if step.Error != nil { // this error, and not the plugin's, because the plugin's error may contain secrets
		span := oteltrace.SpanFromContext(ctx)
		span.RecordError(errors.New(step.Error.Message))
		span.SetStatus(codes.Error, step.Error.Message)
	}
	s.plugin.End(slowStep)
}

// end ends the span of the round.
func (s *spans) end() {
	if s != nil && s.round != nil {
		s.round.End(slowStep)
		s.round = nil
	}
}

func (s *spans) webhook(w *trace.Webhook) {
	attributes := append(verdict(w.Verdict), attribute.String("webhook", w.Reference.String()), attribute.Bool("called", w.Call != nil))
	if w.Call == nil {
		s.plugin.AddEvent("Webhook considered", attributes...)
		return
	}
	s.plugin.AddEvent("Webhook considered", append(attributes,
		attribute.String("outcome", w.Call.Outcome), attribute.String("reviewVersion", w.Call.ReviewVersion),
		attribute.Stringer("connect", w.Call.Times.Connect), attribute.Stringer("tls", w.Call.Times.TLS),
		attribute.Stringer("wait", w.Call.Times.Wait), attribute.Stringer("decode", w.Call.Times.Decode))...)
	s.changed("Object changed by webhook "+w.Reference.String(), w.Call.Before, w.Call.After)
}

func (s *spans) policy(p *trace.Policy) {
	s.plugin.AddEvent("Policy considered", append(verdict(p.Verdict), attribute.String("policy", p.Reference.String()))...)
	for _, b := range p.Bindings {
		if len(b.Evaluations) == 0 {
			s.plugin.AddEvent("Binding considered", append(verdict(b.Verdict), attribute.String("policy", p.Name), attribute.String("binding", b.Name))...)
		}
		for _, e := range b.Evaluations {
			attributes := append(verdict(e.Verdict), attribute.String("policy", p.Name), attribute.String("binding", b.Name), attribute.String("outcome", e.Outcome))
			if e.Param != nil {
				attributes = append(attributes, attribute.Stringer("param", e.Param))
			}
			var values []string
			for _, x := range e.Expressions {
				values = append(values, fmt.Sprintf("%s: %s = %s%s", x.Field, x.Expression, x.Value, x.Error))
			}
			s.plugin.AddEvent("Policy evaluated", append(attributes, attribute.StringSlice("expressions", values))...)
			s.changed("Object changed by policy "+p.Name, e.Before, e.After)
		}
	}
}

// changed adds the differences between two objects to the plugin's span, as an event. If after is empty, it adds
// nothing.
func (s *spans) changed(event string, before, after []byte) {
	if len(after) == 0 {
		return
	}
	var changes []string
	for _, change := range trace.Diff(before, after) {
		changes = append(changes, change.String())
	}
	s.plugin.AddEvent(event, attribute.StringSlice("changes", changes))
}

// verdict returns a verdict as attributes of a span.
func verdict(v trace.Verdict) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.String("reason", string(v.Reason)), attribute.String("field", v.Field), attribute.String("why", v.Clause())}
}
