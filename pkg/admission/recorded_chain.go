package admission

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// recordedChain is an admission chain. If the server records a request, recordedChain adds to the record what each
// plugin does with the request.
type recordedChain struct {
	admission.Interface
	explain Explain
}

// Explain returns the error of a refused request with an explanation added, such as the webhook that refused the
// request. If Explain is nil, the error stays unchanged.
type Explain func(request *trace.Request, refused *trace.Refusal, err error) error

// recordedAttributes are the attributes of a recorded request. recordedPlugin recognizes a recorded request by this
// type, because reading a value of the context would take more time.
type recordedAttributes struct {
	admission.Attributes
	scope *recorder.Scope
	steps *recorder.Steps
	// spans adds to the OpenTelemetry trace of the request. It is nil if the request has no OpenTelemetry trace.
	spans *spans
	// object is the encoded object of the request, as it was at the beginning of Admit or at the last comparison. It is
	// empty after a plugin with webhooks or policies, and in the validating phase.
	object recorder.Encoding
}

// close ends the recording of the mutating or validating phase.
func (a *recordedAttributes) close() {
	a.steps.Close()
	a.spans.end()
}

// Admit implements admission.MutationInterface.
func (c *recordedChain) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	chain := c.Interface.(admission.MutationInterface)
	scope := recorder.From(ctx)
	if scope == nil {
		return chain.Admit(ctx, a, o)
	}
	scope = &recorder.Scope{Recording: scope.Recording, Pass: newPass(a)}
	object, kind := encode(a.GetObject(), o), scope.Pass.Kind
	scope.Pass.SetObjects(scope.Keep(kind, object), scope.Keep(kind, encode(a.GetOldObject(), o)))
	scope.Enter(scope.Pass)
	scope.Update(func(r *trace.Request) { r.DryRun = r.DryRun || a.IsDryRun() && !scope.Evaluating() })
	attributes := &recordedAttributes{a, scope, scope.Steps(trace.Mutating), newSpans(ctx), object}
	err := chain.Admit(recorder.Within(ctx, scope), attributes, o)
	attributes.close()
	scope.Mutated()
	return c.explained(scope, err)
}

// Validate implements admission.ValidationInterface.
func (c *recordedChain) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	chain := c.Interface.(admission.ValidationInterface)
	scope := recorder.From(ctx)
	if scope == nil {
		return chain.Validate(ctx, a, o)
	}
	started := scope.Since(time.Now())
	pass := newPass(a)
	admitted := scope.Keep(pass.Kind, encode(a.GetObject(), o))
	scope = &recorder.Scope{Recording: scope.Recording, Pass: scope.Validates(pass, started, admitted)}
	if scope.Pass == nil { // the request has been answered already
		return chain.Validate(ctx, a, o)
	}
	attributes := &recordedAttributes{a, scope, scope.Steps(trace.Validating), newSpans(ctx), recorder.Encoding{}}
	err := chain.Validate(recorder.Within(ctx, scope), attributes, o)
	attributes.close()
	if err == nil && scope.Evaluating() && a.GetOperation() == admission.Connect {
		return errConnectionEvaluated
	}
	return c.explained(scope, err)
}

// errConnectionEvaluated ends a CONNECT request, such as one for pods/exec, if the client requests only the decisions
// of admission. For a write, the client makes a dry run, but a connection has no dry run.
var errConnectionEvaluated = errors.New("no connection: the request only evaluates the decisions of admission")

func (c *recordedChain) explained(scope *recorder.Scope, err error) error {
	if err == nil || c.explain == nil {
		return err
	}
	scope.Update(func(r *trace.Request) {
		if scope.Pass.Refused != nil {
			err = c.explain(r, scope.Pass.Refused, err)
		}
	})
	return err
}

func newPass(a admission.Attributes) *recorder.Pass {
	kind := a.GetKind()
	return &recorder.Pass{Admission: trace.Admission{
		Operation: string(a.GetOperation()),
		Kind:      trace.Kind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind},
		Namespace: a.GetNamespace(),
		Name:      nameOf(a),
	}}
}

// nameOf returns the name of a request's object. The attributes of a deletecollection don't have the name, but the
// object that is deleted has it.
func nameOf(a admission.Attributes) string {
	if name := a.GetName(); name != "" {
		return name
	}
	object, err := meta.Accessor(a.GetOldObject())
	if err != nil {
		return "" // the name of a new object may not be known yet
	}
	return object.GetName()
}

// recordedPlugin calls a plugin, and records the call if the server records the request.
type recordedPlugin struct {
	admission.Interface
	name               string
	mutates, validates bool
	changes            changes
	// considers is true for a plugin with webhooks or policies. Such a plugin adds its webhooks or policies to the
	// step.
	considers bool
}

// considering are the plugins with webhooks or policies.
var considering = []string{trace.MutatingPlugin, trace.ValidatingPlugin, trace.MutatingPolicy, trace.ValidatingPolicy}

// newRecordedPlugin returns a recordedPlugin; the caller sets its field Interface later. The argument plugin only shows
// whether the plugin mutates and validates. The field Interface doesn't show this, because the wrapper for metrics
// always has the methods Admit and Validate.
func newRecordedPlugin(name string, resources changes, plugin admission.Interface) *recordedPlugin {
	_, mutates := plugin.(admission.MutationInterface)
	_, validates := plugin.(admission.ValidationInterface)
	return &recordedPlugin{name: name, mutates: mutates, validates: validates, changes: resources, considers: slices.Contains(considering, name)}
}

// Admit implements admission.MutationInterface.
func (p *recordedPlugin) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	plugin := p.Interface.(admission.MutationInterface)
	recorded, ok := a.(*recordedAttributes)
	if !ok || !p.mutates {
		return plugin.Admit(ctx, a, o)
	}
	round := 0
	if a.GetReinvocationContext().IsReinvoke() {
		round = 1
	}
	ctx, turn := recorded.begin(ctx, p, trace.Mutating, round)
	turn.compares(o)
	err := plugin.Admit(ctx, a, o)
	turn.end(ctx, err)
	return err
}

// Validate implements admission.ValidationInterface.
func (p *recordedPlugin) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	plugin := p.Interface.(admission.ValidationInterface)
	recorded, ok := a.(*recordedAttributes)
	if !ok || !p.validates {
		return plugin.Validate(ctx, a, o)
	}
	ctx, turn := recorded.begin(ctx, p, trace.Validating, 0)
	err := plugin.Validate(ctx, a, o)
	turn.end(ctx, err)
	return err
}

// turn is one call of a plugin for a recorded request.
type turn struct {
	*recordedAttributes
	plugin *recordedPlugin
	round  int
	// step is the record of the call. begin sets it for plugins with webhooks or policies, and for requests that an
	// OpenTelemetry trace follows. For all others, it is nil until the plugin has changed or refused something.
	step *trace.Step
	// objects has the types of the request's object. It is nil if the call doesn't compare the object before and after
	// the plugin.
	objects admission.ObjectInterfaces
}

// begin records that a plugin is called. A plugin with webhooks or policies gets a step and a context at once. The
// dozens of other plugins usually change nothing, so they get a step at once only if an OpenTelemetry trace follows the
// request: steps and contexts cost time.
func (a *recordedAttributes) begin(ctx context.Context, p *recordedPlugin, phase string, round int) (context.Context, turn) {
	t := turn{recordedAttributes: a, plugin: p, round: round}
	if !p.considers && a.spans == nil {
		return ctx, t
	}
	t.step = a.steps.Add(p.name, round)
	ctx = a.spans.begin(ctx, a, phase, p.name, round)
	if p.considers {
		ctx = recorder.Within(ctx, &recorder.Scope{Recording: a.scope.Recording, Pass: a.scope.Pass, Step: t.step})
	}
	return ctx, t
}

// compares prepares the comparison of the object before and after a mutating plugin.
func (t *turn) compares(o admission.ObjectInterfaces) {
	switch object := t.GetObject(); {
	case t.plugin.considers:
		t.object = recorder.Encoding{} // webhooks and policies record changes themselves
	case object != nil && t.plugin.changes.include(t.GetResource().Resource):
		t.objects = o
		if len(t.object.Bytes) == 0 {
			t.object = encode(object, o)
		}
	}
}

// end records the end of the call: the object if the plugin has changed it, and the error.
func (t *turn) end(ctx context.Context, err error) {
	before, changed := t.object, false
	if t.objects != nil {
		t.object = encode(t.GetObject(), t.objects)
		changed = !bytes.Equal(before.Bytes, t.object.Bytes)
	}
	if t.step == nil && err == nil && !changed {
		t.steps.Pass(t.plugin.name, t.round)
		return
	}
	if t.step == nil {
		t.step = t.steps.Add(t.plugin.name, t.round)
	}
	if changed {
		kind := t.scope.Pass.Kind
		t.scope.SetChange(t.step, t.scope.Keep(kind, before), t.scope.Keep(kind, t.object))
	}
	t.steps.End(t.step, recorder.ErrorOf(err, statusOf))
	t.spans.ended(ctx, t.scope.Pass, t.step)
}

// statusOf returns the HTTP code and the reason of an API error. For any other error, the code is 500.
func statusOf(err error) (code int, reason string) {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return int(status.Status().Code), string(status.Status().Reason)
	}
	return http.StatusInternalServerError, ""
}
