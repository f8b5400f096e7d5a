package admission

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/alwayspullimages"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/defaultingressclass"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/defaultstorageclass"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/defaulttolerationseconds"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/extendedresourcetoleration"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/imagepolicy"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/limitranger"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/podnodeselector"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/podtolerationrestriction"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/podtopologylabels"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/priority"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/runtimeclass"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/serviceaccount"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/storageobjectinuseprotection"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/taintnodesbycondition"
	"github.com/miniapi-dev/miniapi/pkg/trace"
)

// changed lists for each in-tree mutating plugin the resources whose objects it may change. The recording compares
// the object before and after a plugin only for these, because a comparison costs more than a plugin.
var changed = map[string][]string{
	"AlwaysAdmit":                     nil,
	"AlwaysDeny":                      nil,
	lifecycle.PluginName:              nil,
	"NamespaceAutoProvision":          nil,
	"NodeRestriction":                 nil,
	limitranger.Name:                  {"pods"},
	serviceaccount.Name:               {"pods"},
	taintnodesbycondition.Name:        {"nodes"},
	alwayspullimages.Name:             {"pods"},
	imagepolicy.Name:                  {"pods"},
	podnodeselector.Name:              {"pods"},
	priority.Name:                     {"pods", "podgroups", "workloads"},
	defaulttolerationseconds.Name:     {"pods"},
	podtolerationrestriction.Name:     {"pods"},
	extendedresourcetoleration.Name:   {"pods"},
	defaultstorageclass.Name:          {"persistentvolumeclaims"},
	storageobjectinuseprotection.Name: {"persistentvolumeclaims", "persistentvolumes"},
	runtimeclass.Name:                 {"pods"},
	defaultingressclass.Name:          {"ingresses"},
	podtopologylabels.Name:            {"pods"},
	// The plugins with policies and webhooks record changes themselves.
	trace.MutatingPlugin:      nil,
	"MutatingAdmissionPolicy": nil,
}

// recordedChain records each request that passes through the chain, if the request is being recorded.
type recordedChain struct {
	admission.Interface
	explain Explain
}

// Explain returns the error of a refused request with an explanation added, such as the webhook that refused. If
// Explain is nil, nothing is added.
type Explain func(request *trace.Request, refused *trace.Refusal, err error) error

// recordedAttributes are the attributes of a recorded request. Plugins recognize a recorded request by this type,
// because a look into the context would cost each plugin more.
type recordedAttributes struct {
	admission.Attributes
	scope *trace.Scope
	// now is the time at which the last step ended and the next one begins.
	now time.Time
	// spans is nil unless an OpenTelemetry trace follows the request.
	spans *spans
}

// Admit implements admission.MutationInterface.
func (c *recordedChain) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	chain := c.Interface.(admission.MutationInterface)
	scope := trace.From(ctx)
	if scope == nil {
		return chain.Admit(ctx, a, o)
	}
	scope = &trace.Scope{Recording: scope.Recording, Admission: newAdmission(a)}
	scope.Admission.Object = encode(scope.Recording, scope.Admission.Kind, a.GetObject(), o)
	scope.Admission.OldObject = encode(scope.Recording, scope.Admission.Kind, a.GetOldObject(), o)
	scope.Update(func(r *trace.Request) {
		r.Admissions = append(r.Admissions, scope.Admission)
		r.DryRun = r.DryRun || a.IsDryRun() && !scope.Evaluating()
	})
	attributes := &recordedAttributes{a, scope, time.Now(), newSpans(ctx)}
	err := chain.Admit(trace.Within(ctx, scope), attributes, o)
	attributes.spans.end()
	scope.Update(func(*trace.Request) { scope.Admission.Mutated(scope.Since(time.Now())) })
	return c.explained(scope, err)
}

// Validate implements admission.ValidationInterface.
func (c *recordedChain) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	chain := c.Interface.(admission.ValidationInterface)
	scope := trace.From(ctx)
	if scope == nil {
		return chain.Validate(ctx, a, o)
	}
	started := scope.Since(time.Now())
	pass := newAdmission(a)
	admitted := encode(scope.Recording, pass.Kind, a.GetObject(), o)
	scope = &trace.Scope{Recording: scope.Recording}
	scope.Update(func(r *trace.Request) {
		// Validates finds the pass that Admit has added to the record. If only validating plugins handle the
		// operation, there is none, and Validates adds one.
		scope.Admission = r.Validates(pass, started)
		scope.Admission.Admitted = admitted
	})
	if scope.Admission == nil { // the request has been answered already
		return chain.Validate(ctx, a, o)
	}
	attributes := &recordedAttributes{a, scope, time.Now(), newSpans(ctx)}
	err := chain.Validate(trace.Within(ctx, scope), attributes, o)
	attributes.spans.end()
	if err == nil && scope.Evaluating() && a.GetOperation() == admission.Connect {
		return errConnectionEvaluated
	}
	return c.explained(scope, err)
}

// errConnectionEvaluated ends a request that connects, such as pods/exec, when it is only evaluated. A write would
// be made as a dry run instead.
var errConnectionEvaluated = errors.New("the connection is evaluated, and not made")

func (c *recordedChain) explained(scope *trace.Scope, err error) error {
	if err == nil || c.explain == nil {
		return err
	}
	scope.Update(func(r *trace.Request) {
		if scope.Admission.Refused != nil {
			err = c.explain(r, scope.Admission.Refused, err)
		}
	})
	return err
}

func newAdmission(a admission.Attributes) *trace.Admission {
	kind := a.GetKind()
	return &trace.Admission{
		Operation: string(a.GetOperation()),
		Kind:      trace.Kind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind},
		Namespace: a.GetNamespace(),
		Name:      a.GetName(),
	}
}

// recordedPlugin calls a plugin and records the call as a step.
type recordedPlugin struct {
	admission.Interface
	name               string
	mutates, validates bool
	changes            []string // the resources from changed
	// considers is true for a plugin with webhooks or policies, which adds them to its step.
	considers bool
}

// considering are the plugins with webhooks or policies.
var considering = []string{trace.MutatingPlugin, trace.ValidatingPlugin, trace.MutatingPolicy, trace.ValidatingPolicy}

// newRecordedPlugin returns a recordedPlugin; the caller sets its field Interface later. The given plugin is only
// asked whether it mutates and validates, which the wrapper for metrics hides.
func newRecordedPlugin(name string, plugin admission.Interface) *recordedPlugin {
	_, mutates := plugin.(admission.MutationInterface)
	_, validates := plugin.(admission.ValidationInterface)
	return &recordedPlugin{name: name, mutates: mutates, validates: validates, changes: changed[name], considers: slices.Contains(considering, name)}
}

// Admit implements admission.MutationInterface.
func (p *recordedPlugin) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	plugin := p.Interface.(admission.MutationInterface)
	recorded, ok := a.(*recordedAttributes)
	if !ok || !p.mutates {
		return plugin.Admit(ctx, a, o)
	}
	var before runtime.Object
	if object := a.GetObject(); object != nil && slices.Contains(p.changes, a.GetResource().Resource) {
		before = object.DeepCopyObject()
	}
	begun := trace.Step{Plugin: p.name, Phase: trace.Mutating}
	if a.GetReinvocationContext().IsReinvoke() {
		begun.Round = 1
	}
	step, ctx := recorded.begin(ctx, p, begun)
	err := plugin.Admit(ctx, a, o)
	recorded.end(step, err)
	if before != nil && !apiequality.Semantic.DeepEqual(before, a.GetObject()) {
		scope := recorded.scope
		from, to := encode(scope.Recording, scope.Admission.Kind, before, o), encode(scope.Recording, scope.Admission.Kind, a.GetObject(), o)
		scope.Update(func(*trace.Request) { step.Before, step.After = from, to })
	}
	recorded.spans.ended(ctx, step, err)
	return err
}

// Validate implements admission.ValidationInterface.
func (p *recordedPlugin) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	plugin := p.Interface.(admission.ValidationInterface)
	recorded, ok := a.(*recordedAttributes)
	if !ok || !p.validates {
		return plugin.Validate(ctx, a, o)
	}
	step, ctx := recorded.begin(ctx, p, trace.Step{Plugin: p.name, Phase: trace.Validating})
	err := plugin.Validate(ctx, a, o)
	recorded.end(step, err)
	recorded.spans.ended(ctx, step, err)
	return err
}

// begin records that a plugin is called. It returns the step, and the context for the plugin. Only plugins with
// webhooks or policies get a context with the step, because contexts for all the others would cost time.
func (a *recordedAttributes) begin(ctx context.Context, p *recordedPlugin, begun trace.Step) (*trace.Step, context.Context) {
	begun.Start = a.scope.Since(a.now)
	step := a.scope.AddStep(begun)
	ctx = a.spans.begin(ctx, a, begun)
	if !p.considers {
		return step, ctx
	}
	return step, trace.Within(ctx, &trace.Scope{Recording: a.scope.Recording, Admission: a.scope.Admission, Step: step})
}

// end records the end of a step.
func (a *recordedAttributes) end(step *trace.Step, err error) {
	now := time.Now()
	took := trace.Duration(now.Sub(a.now))
	a.now = now
	a.scope.Update(func(*trace.Request) {
		step.Took = took
		if err != nil {
			step.Error = trace.ErrorOf(err, statusOf)
			a.scope.Admission.Refuse(step)
		}
	})
}

// statusOf returns the code and the reason of an API error.
func statusOf(err error) (code int, reason string) {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return int(status.Status().Code), string(status.Status().Reason)
	}
	return http.StatusInternalServerError, ""
}

// encode returns the JSON of an object for the record: secret values are replaced.
func encode(recording *trace.Recording, kind trace.Kind, object runtime.Object, o admission.ObjectInterfaces) json.RawMessage {
	if object == nil {
		return nil
	}
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil // such an object can't be stored, so this doesn't happen
	}
	if object.GetObjectKind().GroupVersionKind().Empty() {
		encoded = withKind(encoded, object, o.GetObjectTyper())
	}
	return recording.Object(kind, encoded)
}

// withKind adds apiVersion and kind to the JSON of an object that doesn't carry them. They follow from the object's
// Go type.
func withKind(encoded []byte, object runtime.Object, typer runtime.ObjectTyper) []byte {
	kinds, _, err := typer.ObjectKinds(object)
	if err != nil || len(encoded) < len("{}") {
		return encoded
	}
	for _, kind := range kinds {
		if kind.Version == runtime.APIVersionInternal {
			continue
		}
		apiVersion, name := kind.ToAPIVersionAndKind()
		head := []byte(`{"kind":"` + name + `","apiVersion":"` + apiVersion + `"`)
		if len(encoded) > len("{}") {
			head = append(head, ',')
		}
		return append(head, encoded[1:]...)
	}
	return encoded
}
