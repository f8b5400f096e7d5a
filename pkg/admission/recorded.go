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

// changed are the resources whose objects an in-tree plugin may change. A comparison of the object before and after each
// plugin would cost more than the plugins, so a recording compares these alone.
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
	// Policies and webhooks record their changes themselves.
	trace.MutatingPlugin:      nil,
	"MutatingAdmissionPolicy": nil,
}

// recordedChain records the chain's changes of the objects of recorded requests.
type recordedChain struct {
	admission.Interface
	explain Explain
}

// Explain adds to the error of a refused request where the request was refused. Nil adds nothing.
type Explain func(request *trace.Request, refused *trace.Refusal, err error) error

// recordedAttributes mark the request as recorded, for the plugins: a look into the context would cost each of them more.
type recordedAttributes struct {
	admission.Attributes
	scope *trace.Scope
	// now is the end of the last step, with which the next one begins.
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
		// The object of a pass has been admitted before, unless only validating plugins handle the operation.
		scope.Admission = r.Validates(pass, started)
		scope.Admission.Admitted = admitted
	})
	if scope.Admission == nil { // the request has been answered
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

// errConnectionEvaluated keeps a connection that is only evaluated from being made: unlike a write, it has no dry run.
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

// recordedPlugin records the steps of a plugin.
type recordedPlugin struct {
	admission.Interface
	name               string
	mutates, validates bool
	changes            []string // resources
	// considers says that the plugin adds to its step: webhooks or policies.
	considers bool
}

// considering are the plugins that add to their steps.
var considering = []string{trace.MutatingPlugin, trace.ValidatingPlugin, trace.MutatingPolicy, trace.ValidatingPolicy}

// newRecordedPlugin returns a recordedPlugin that lacks the plugin to call. The metrics around a plugin hide which phases
// the plugin has.
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

// begin records that a plugin is called, and returns the step and the plugin's context. Most requests meet dozens of
// plugins that have nothing to tell, so those get no context of their own.
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

// encode returns the JSON of an object, as it may be kept.
func encode(recording *trace.Recording, kind trace.Kind, object runtime.Object, o admission.ObjectInterfaces) json.RawMessage {
	if object == nil {
		return nil
	}
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil // such an object can't be stored either
	}
	if object.GetObjectKind().GroupVersionKind().Empty() {
		encoded = withKind(encoded, object, o.GetObjectTyper())
	}
	return recording.Object(kind, encoded)
}

// withKind adds the apiVersion and the kind that an internal object lacks: those of its Go type.
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
