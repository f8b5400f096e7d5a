package review

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Outcome has the server's answer to the request, and the reviews that the webhook got.
type Outcome struct {
	// Exchanges are the reviews of the request, with their responses. There is one exchange, or, for a collection, up to
	// one for each object.
	Exchanges []Exchange
	// Err is the error of the request, or nil.
	Err error
	// Warnings are the warnings in the server's response. They include the warnings of the webhook.
	Warnings []string
	// Dropped says which fields of the webhook's patch the kind of the object doesn't have. It is "" if there are none.
	Dropped string
}

// Exchange is a review and its response.
type Exchange struct {
	// Review is the AdmissionReview, and Response the body of the response.
	Review, Response []byte
	// Code is the HTTP status of the response.
	Code int
	// Unreachable is the error of Webhook.Answer, or nil.
	Unreachable error
	// Took is the time that Webhook.Answer needed.
	Took time.Duration
}

// Judge returns a sentence about the effect of the webhook's responses. It returns an error if a response is wrong, if
// the webhook can't be called, or if the object isn't valid. The argument timeout is the timeout of the webhook.
func (o *Outcome) Judge(timeout time.Duration) (verdict string, err error) {
	patched, took, code := false, time.Duration(0), http.StatusOK
	for _, e := range o.Exchanges {
		took = max(took, e.Took)
		var answer admissionv1.AdmissionReview
		patched = patched || json.Unmarshal(e.Response, &answer) == nil && answer.Response != nil && len(answer.Response.Patch) > 0
		switch {
		case errors.Is(e.Unreachable, context.Canceled) || errors.Is(e.Unreachable, context.DeadlineExceeded):
			return "", fmt.Errorf("calling the webhook: no response within %s, the webhook's timeoutSeconds: the webhook must answer sooner, or --timeout must be longer", timeout)
		case e.Unreachable != nil:
			return "", fmt.Errorf("calling the webhook: %w", e.Unreachable)
		case e.Code != http.StatusOK:
			code = e.Code
		}
	}
	within := " in " + took.Round(10*time.Microsecond).String()
	switch {
	case o.Dropped != "":
		return "", fmt.Errorf("the patch sets fields that don't exist, and the server drops them: %s", o.Dropped)
	case o.Err == nil && patched:
		return "allowed" + within + ": the uid and the version are right, the patch applies, and the object is valid", nil
	case o.Err == nil:
		return "allowed" + within + ": the uid and the version are right, and the object is valid", nil
	case isDenial(o.Err):
		return "denied" + within + ": " + o.Err.Error(), nil
	case apierrors.IsInvalid(o.Err) && patched:
		return "", fmt.Errorf("the object isn't valid with the patch: %w", o.Err)
	case apierrors.IsInvalid(o.Err):
		return "", fmt.Errorf("the object isn't valid, and the response has no patch that could make the object valid: %w", o.Err)
	case isOfWebhook(o.Err) && code != http.StatusOK:
		return "", fmt.Errorf("the server refuses the response: the HTTP status must be 200 OK, got %d %s: %w", code, http.StatusText(code), o.Err)
	case isOfWebhook(o.Err):
		return "", fmt.Errorf("the server refuses the response: %w", o.Err)
	}
	return "allowed" + within + ": the uid and the version are right; the request fails afterwards: " + o.Err.Error(), nil
}
