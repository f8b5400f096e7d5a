// Package review makes one request to a server that calls a webhook, returns the AdmissionReview of that call, and
// tells whether the server accepts the webhook's response. The command "miniapi review" runs a server for that purpose,
// because the package creates everything that the request needs. Don't use the package with a server that others use.
package review

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// operations returns the operations that rules of webhooks can name.
func operations() []admissionv1.Operation {
	return []admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect}
}

// Request is the request that is reviewed.
type Request struct {
	Operation admissionv1.Operation
	// Object is the object of the request, of a deletion or of a connection. Old is the object before an update; by
	// default, it is equal to Object. If Object is that of a subresource, such as a Scale, an Eviction or
	// PodExecOptions, Old is the object of the resource.
	Object, Old *unstructured.Unstructured
	// Subresource is the subresource of the request, or "".
	Subresource string
	// User and Groups are the user of the request. Without them, the admin makes the request.
	User   string
	Groups []string
	// DryRun turns the request into a dry run.
	DryRun bool
}

// Webhook is the webhook that gets the review.
type Webhook struct {
	// ReviewVersion is the version of the AdmissionReview: v1 or v1beta1.
	ReviewVersion string
	// Validating selects a validating webhook instead of a mutating one.
	Validating bool
	// Version, if set, is the version in the webhook's rules. If it differs from the version of the request, the review
	// has the object in Version.
	Version schema.GroupVersion
	// Answer returns the response to a review. If Answer is nil, the webhook allows the request.
	Answer func(ctx context.Context, review []byte) (code int, body []byte, err error)
}

// Outcome is the result of the request.
type Outcome struct {
	// Review is the AdmissionReview, and Response the body of the response.
	Review, Response []byte
	// Unreachable is the error of Webhook.Answer, or nil.
	Unreachable error
	// Err is the error of the request, or nil.
	Err error
}

// Check returns an error if the request can't be made.
func (r Request) Check() error {
	known := false
	for _, operation := range operations() {
		known = known || operation == r.Operation
	}
	switch {
	case !known:
		return fmt.Errorf("--operation %q: must be one of %v", r.Operation, operations())
	case r.Operation == admissionv1.Connect && r.Subresource == "":
		return errors.New("--operation CONNECT: needs --subresource, such as exec")
	case r.Operation == admissionv1.Create && r.Subresource == "" && r.Old != nil:
		return errors.New("--old: is for an update: nothing is there before an object is created")
	}
	return nil
}

// Do makes the request to a server with the credentials of config, and returns the review that the webhook got.
func Do(ctx context.Context, config *rest.Config, request Request, webhook Webhook) (*Outcome, error) {
	m, err := newMaker(config, request)
	if err != nil {
		return nil, err
	}
	if err := m.prepare(ctx); err != nil {
		return nil, fmt.Errorf("preparing the request: %w", err)
	}
	sent, err := listen(webhook)
	if err != nil {
		return nil, err
	}
	defer sent.close()
	if err := m.register(ctx, sent, webhook); err != nil {
		return nil, fmt.Errorf("registering the webhook: %w", err)
	}
	outcome := &Outcome{Err: m.make(ctx)}
	outcome.Review, outcome.Response, outcome.Unreachable = sent.exchange()
	if outcome.Review == nil {
		if outcome.Err == nil {
			outcome.Err = errors.New("the server calls no webhook for it")
		}
		return nil, fmt.Errorf("no review was sent: %w", outcome.Err)
	}
	return outcome, nil
}

// Judge returns a sentence about the effect of the webhook's response. The error says that the response is wrong, or
// that the webhook can't be called.
func (o *Outcome) Judge() (verdict string, err error) {
	var answer admissionv1.AdmissionReview
	decoded := json.Unmarshal(o.Response, &answer) == nil && answer.Response != nil
	patched := decoded && len(answer.Response.Patch) > 0
	switch {
	case o.Unreachable != nil:
		return "", fmt.Errorf("calling the webhook: %w", o.Unreachable)
	case o.Err == nil && patched:
		return "allowed: the uid and the version are right, the patch applies, and the object is valid", nil
	case o.Err == nil:
		return "allowed: the uid and the version are right, and the object is valid", nil
	case isDenial(o.Err):
		return "denied: " + o.Err.Error(), nil
	case apierrors.IsInvalid(o.Err) && patched:
		return "", fmt.Errorf("the object isn't valid with the patch: %w", o.Err)
	case apierrors.IsInvalid(o.Err):
		return "", fmt.Errorf("the object isn't valid, whatever the webhook answers: %w", o.Err)
	case isOfWebhook(o.Err):
		return "", fmt.Errorf("the server refuses the response: %w", o.Err)
	}
	return "allowed: the uid and the version are right; the request fails afterwards: " + o.Err.Error(), nil
}
