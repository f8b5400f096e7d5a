package coverage

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests/source"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// reachMatchConditions counts the match conditions of a webhook. The record says that all are true, or which is the first that is
// false. The conditions within them are evaluated here with the recorded request.
func (o *object) reachMatchConditions(request *trace.Request, pass *trace.Admission, w *trace.Webhook) {
	conditions := source.Path{"webhooks", w.Index, "matchConditions"}
	failed := ""
	switch {
	case w.Verdict.Reason == trace.MatchConditionFalse:
		failed, _, _ = strings.Cut(w.Verdict.Field, " (")
	case w.Call == nil:
		return
	}
	variables := matchVariables(request, pass, w)
	over := false
	o.each(conditions, func(condition source.Path) {
		if over {
			return
		}
		path, outcome := condition.With("expression").String(), isTrue
		if over = condition.String() == failed; over {
			outcome = isFalse
		}
		recorded := over || failed == "" // a condition before the one that is false may be an error
		o.reachMatchCondition(path, outcome, recorded, variables)
	})
}

// reachMatchCondition counts a match condition, and the conditions within it if its value here is the recorded outcome: a
// condition that asks the authorizer has no value here.
func (o *object) reachMatchCondition(path, outcome string, recorded bool, variables interpreter.Activation) {
	parsed := o.parsed[path]
	if parsed == nil || variables == nil {
		if recorded {
			o.count(path, outcome)
		}
		return
	}
	values := parsed.Evaluate(context.Background(), variables)
	agrees := values.Result == types.Bool(outcome == isTrue)
	if recorded || agrees {
		o.count(path, outcome)
	}
	for i, p := range o.conditions[path] {
		if agrees && p != nil {
			p.count(isTrue, values.Conditions[i].True)
			p.count(isFalse, values.Conditions[i].False)
		}
	}
}

// matchVariables returns the variables of the match conditions of a webhook: those of the review if the webhook was called, and
// otherwise what the record of the request has. It returns nil if the record lacks them.
func matchVariables(request *trace.Request, pass *trace.Admission, w *trace.Webhook) interpreter.Activation {
	var review struct {
		Request map[string]any `json:"request"`
	}
	switch {
	case w.Call != nil:
		if utiljson.Unmarshal(w.Call.Request, &review) != nil || review.Request == nil {
			return nil
		}
	case w.Verdict.As != nil:
		return nil // the conditions are about the object in another version
	default:
		object := pass.Admitted
		if object == nil {
			object = pass.Object
		}
		kind := map[string]any{"group": pass.Kind.Group, "version": pass.Kind.Version, "kind": pass.Kind.Kind}
		resource := map[string]any{"group": request.Group, "version": request.Version, "resource": request.Resource.Resource}
		review.Request = map[string]any{
			"kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource,
			"subResource": request.Subresource, "requestSubResource": request.Subresource,
			"operation": pass.Operation, "name": pass.Name, "namespace": pass.Namespace, "dryRun": request.DryRun,
			"userInfo": map[string]any{"username": request.User.Name, "groups": request.User.Groups},
			"object":   decoded(object), "oldObject": decoded(pass.OldObject),
		}
	}
	variables, err := interpreter.NewActivation(map[string]any{
		"request": review.Request, "object": review.Request["object"], "oldObject": review.Request["oldObject"],
	})
	if err != nil {
		return nil
	}
	return variables
}

// decoded returns a recorded object, or nil for none.
func decoded(object json.RawMessage) (value any) {
	_ = utiljson.Unmarshal(object, &value) // a missing object is null
	return value
}
