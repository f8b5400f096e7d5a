package admissiontrace

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// WhyPath returns, as a Why, the reasons why a webhook is or isn't called for an object, or why a policy is or
// isn't evaluated. GET takes the parameters webhook=KIND/NAME[/WEBHOOK] or webhook=KIND/NAME[/BINDING], resource,
// namespace and name; the name may be missing for objects that have none, such as a TokenReview. POST takes an
// Evaluation, which describes a hypothetical request.
const WhyPath = Prefix + "why"

// Why is the answer of WhyPath.
type Why struct {
	Answers []trace.Answer `json:"answers"`
}

// why serves GET of WhyPath. It explains the last recorded write of the object. Without such a record, it evaluates the
// creation of the stored object. If the object isn't stored, it explains a create request that authorization refused.
func (t *Trace) why(w http.ResponseWriter, req *http.Request) error {
	target, err := targetOf(req.URL.Query().Get("webhook"))
	if err != nil {
		return err
	}
	filter := t.filterOf(req)
	if filter.Resource == "" {
		return apierrors.NewBadRequest("the parameter resource must name a resource")
	}
	configured, err := t.configurations.configured(req.Context(), target)
	if err != nil {
		return err
	}
	filter.Writes, filter.Last = true, 1
	requests := t.Recorder.Requests(filter)
	if len(requests) > 0 {
		return answer(w, Why{trace.Why(target, configured, filter.Narrowed(requests[len(requests)-1]), false)})
	}
	if filter.Name == "" {
		return answer(w, Why{[]trace.Answer{trace.NotRecordedFor(target, "no name is given")}})
	}
	evaluation, err := t.evaluator.stored(req.Context(), filter)
	if apierrors.IsNotFound(err) {
		if refused := t.refusedCreation(filter); refused != nil {
			return answer(w, Why{trace.Why(target, configured, refused, false)})
		}
		return answer(w, Why{[]trace.Answer{trace.NotRecordedFor(target, err.Error())}})
	}
	if err != nil {
		return err
	}
	evaluation.Webhook = target.String()
	return t.answerEvaluated(w, req, target, configured, evaluation)
}

// refusedCreation returns the last recorded create request that authorization refused and that has no object name, or
// nil. The request was for the filter's resource and namespace.
func (t *Trace) refusedCreation(filter recorder.Filter) *trace.Request {
	filter.Name, filter.Last = "", 0
	for _, request := range slices.Backward(t.Recorder.Requests(filter)) {
		if request.Forbidden && request.Verb == "create" && request.Name == "" {
			return request
		}
	}
	return nil
}

// evaluateWhy serves POST of WhyPath.
func (t *Trace) evaluateWhy(w http.ResponseWriter, req *http.Request) error {
	var evaluation Evaluation
	decoder := json.NewDecoder(http.MaxBytesReader(w, req.Body, maxEvaluation))
	decoder.DisallowUnknownFields() // without this, the decoder would ignore a misspelt field
	switch err := decoder.Decode(&evaluation); {
	case err != nil:
		return apierrors.NewBadRequest(fmt.Sprintf("the body must be an Evaluation: %v", err))
	case len(evaluation.Groups) > 0 && evaluation.User == "":
		return apierrors.NewBadRequest("groups: are the groups of a user, so user must be set")
	case len(evaluation.Object) == 0:
		return apierrors.NewBadRequest("object: must be the object of the request")
	}
	target, err := targetOf(evaluation.Webhook)
	if err != nil {
		return err
	}
	configured, err := t.configurations.configured(req.Context(), target)
	if err != nil {
		return err
	}
	return t.answerEvaluated(w, req, target, configured, evaluation)
}

func (t *Trace) answerEvaluated(w http.ResponseWriter, req *http.Request, target trace.Reference, configured trace.Configured, evaluation Evaluation) error {
	request, err := t.evaluator.evaluate(req.Context(), evaluation)
	if err != nil {
		return err
	}
	return answer(w, Why{trace.Why(target, configured, request, true)})
}

// targetOf parses the text KIND/NAME[/WEBHOOK], or KIND/NAME[/BINDING] of a policy.
func targetOf(text string) (trace.Reference, error) {
	kind, rest, _ := strings.Cut(text, "/")
	name, part, _ := strings.Cut(rest, "/")
	target := trace.Reference{Kind: kindOf(kind), Name: name, Part: part}
	if target.Kind == "" || name == "" {
		return target, apierrors.NewBadRequest(fmt.Sprintf("webhook %q: must be %s/NAME or %s/NAME, with /WEBHOOK after NAME for a single webhook, or %s/NAME or %s/NAME, with /BINDING after NAME for a single binding",
			text, trace.MutatingConfiguration, trace.ValidatingConfiguration, trace.MutatingPolicy, trace.ValidatingPolicy))
	}
	return target, nil
}

// kindOf returns the kind of webhook configuration or policy that a client names. Like kubectl, it accepts the singular
// and the plural name of the resource, with or without the group. It returns "" for any other name.
func kindOf(name string) string {
	resource, _, _ := strings.Cut(strings.ToLower(name), ".")
	for _, kind := range []string{trace.MutatingConfiguration, trace.ValidatingConfiguration, trace.MutatingPolicy, trace.ValidatingPolicy} {
		plural, singular := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
		if resource == plural.Resource || resource == singular.Resource {
			return kind
		}
	}
	return ""
}
