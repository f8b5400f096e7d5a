package admissionwebhook

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// callRecord records one call of a webhook. It is nil for a request that isn't recorded; its methods then do
// nothing.
type callRecord struct {
	scope   *recorder.Scope
	webhook *trace.Webhook
	kind    trace.Kind
	// call is nil until begin.
	call  *trace.Call
	times callTimes
	// caBundle is the field of the webhook's configuration. answer is the body of the response.
	caBundle, answer []byte
}

// dryRun records that the webhook isn't called, because the request is a dry run and the webhook may have side effects.
func (r *callRecord) dryRun(hook webhook.WebhookAccessor, err error) {
	if r == nil {
		return
	}
	verdict := dryRunVerdict(hook, pathOf(r.webhook))
	if !outcomeOf(hook, err).ignored {
		verdict.Detail = err.Error()
	}
	r.scope.Update(func(*trace.Request) { r.webhook.Verdict = verdict })
}

// begin records that the webhook is called.
func (r *callRecord) begin(hook webhook.WebhookAccessor) {
	if r == nil {
		return
	}
	r.times.begin()
	r.caBundle = hook.GetClientConfig().CABundle
	call := &trace.Call{Address: address(hook.GetClientConfig()), Start: r.scope.Since(r.times.began)}
	r.scope.Update(func(*trace.Request) { r.call, r.webhook.Call = call, call })
}

// address returns the URL or the service of the webhook.
func address(config admissionregistrationv1.WebhookClientConfig) string {
	switch {
	case config.URL != nil:
		return *config.URL
	case config.Service == nil:
		return ""
	}
	text := "service " + config.Service.Namespace + "/" + config.Service.Name
	if config.Service.Port != nil {
		text += ":" + strconv.Itoa(int(*config.Service.Port))
	}
	if config.Service.Path != nil {
		text += " " + *config.Service.Path
	}
	return text
}

// intercepted records a fault that was injected into the call.
func (r *callRecord) intercepted(fault trace.Fault) {
	if r != nil {
		r.scope.Update(func(*trace.Request) { r.call.Fault = &fault })
	}
}

// sends records the review. It is called before the service of the webhook is looked up, so the trace has the review
// even if no service is found and nothing is sent.
func (r *callRecord) sends(review *review) {
	if r == nil {
		return
	}
	version := "v1"
	if _, ok := review.response.(*admissionv1beta1.AdmissionReview); ok {
		version = "v1beta1"
	}
	body := r.scope.Review(r.kind, review.body)
	r.scope.Update(func(*trace.Request) {
		r.call.ReviewVersion, r.call.UID, r.call.Request = version, string(review.uid), body
	})
}

// observed returns a context that makes net/http report the steps of the call, for their times in the record, and the
// transport report the HTTP request and its response.
func (r *callRecord) observed(ctx context.Context) context.Context {
	if r == nil {
		return ctx
	}
	return throughTransport(r.times.within(ctx), r.exchanges)
}

// received records the response. A response that couldn't be decoded is recorded only if it is JSON.
func (r *callRecord) received(review *review, err error) {
	if r == nil {
		return
	}
	times, remote := r.times.end()
	r.answer = review.received
	var body json.RawMessage
	if err == nil || json.Valid(review.received) {
		body = r.scope.Response(r.kind, review.received)
	}
	r.scope.Update(func(*trace.Request) { r.call.Times, r.call.Remote, r.call.Response = times, remote, body })
}

// warns records the warnings of the response.
func (r *callRecord) warns(warnings []string) {
	if r != nil && len(warnings) > 0 {
		r.scope.Update(func(*trace.Request) { r.call.Warnings = slices.Clone(warnings) })
	}
}

// object returns the JSON of the object in the review, which the webhook may patch.
func (r *callRecord) object(o *versionedObject) json.RawMessage {
	if r == nil || o.versioned.VersionedObject.Object() == nil {
		return nil
	}
	encoded, err := o.reviews.encodeObject(o.versioned.VersionedObject.Object())
	if err != nil {
		return nil // the error is impossible: each API object can be encoded as JSON
	}
	return encoded
}

// patched records a patch. If the patch has mutated the object, patched also records the object before and after the
// patch. The patched object is encoded once for the record and for the review of the next webhook.
func (r *callRecord) patched(patch []byte, mutated bool, before json.RawMessage, o *versionedObject) {
	if r == nil {
		return
	}
	var after json.RawMessage
	if mutated {
		before, after = r.scope.Object(r.kind, before), r.scope.Object(r.kind, r.object(o))
	} else {
		before = nil
	}
	kept := r.scope.Patch(r.kind, patch)
	r.scope.Update(func(*trace.Request) { r.call.Patch, r.call.Before, r.call.After = kept, before, after })
}

// end records the outcome of the call.
func (r *callRecord) end(o outcome) {
	if r == nil || r.call == nil {
		return
	}
	took := trace.Duration(r.times.since())
	r.scope.Update(func(*trace.Request) {
		r.call.Took, r.call.Outcome = took, o.traced()
		if o.err != nil {
			r.call.Fail(&trace.Error{Code: o.code, Reason: string(apierrors.ReasonForError(o.err)), Message: o.err.Error()}, r.answer)
		}
	})
}

// traced returns the name that package trace has for the outcome of a call.
func (o outcome) traced() string {
	switch {
	case o.err == nil:
		return trace.Allowed
	case o.ignored:
		return trace.FailedOpen
	case o.denied():
		return trace.Denied
	}
	return trace.Failed
}
