// Package review makes one request to a server, and the server calls a webhook. The package returns the AdmissionReview
// of that call, and tells whether the server accepts the webhook's response. [Do] is the way in. Package requests, which
// makes the request, creates everything that the request needs, so the command "miniapi review" runs a server of its own.
// Don't use the package with a server that has other users.
package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/requests"
)

// Webhook is the webhook that gets the review.
type Webhook struct {
	// ReviewVersion is the version of the AdmissionReview: v1 or v1beta1.
	ReviewVersion string
	// Validating selects a validating webhook instead of a mutating one.
	Validating bool
	// Version, if set, is the version in the webhook's rules. If it differs from the version of the request, the server
	// converts the object to Version for the review.
	Version schema.GroupVersion
	// Timeout is the webhook's timeoutSeconds.
	Timeout time.Duration
	// Answer returns the response to a review. The argument query is the URL query of the server's call, such as
	// timeout=10s. If Answer is nil, the webhook allows the request.
	Answer func(ctx context.Context, query string, review []byte) (code int, body []byte, err error)
}

// InputError is the error of flags or objects that don't fit the server or each other.
type InputError struct{ Err error }

func (e InputError) Error() string { return e.Err.Error() }
func (e InputError) Unwrap() error { return e.Err }

func unfit(format string, args ...any) error { return InputError{fmt.Errorf(format, args...)} }

// flags are the flags of the fields of a request, where the flag isn't the field's name.
var flags = map[string]string{
	"object": "-f", "user": "--as", "groups": "--as-group", "uid": "--as-uid", "extra": "--as-user-extra", "installs": "--apply",
	"fieldManager": "--field-manager", "fieldValidation": "--field-validation", "gracePeriodSeconds": "--grace-period",
	"propagationPolicy": "--propagation-policy", "dryRun": "--dry-run",
}

// Named returns the error of a request with the names of flags.
func Named(err error) error {
	var unfit requests.InputError
	if !errors.As(err, &unfit) {
		return err
	}
	return InputError{errors.New(unfit.Named(func(field string) string { return cmp.Or(flags[field], "--"+field) }))}
}

// Do makes the request to a server with the credentials of config, and returns the result, with the reviews that the
// webhook got.
func Do(ctx context.Context, config *rest.Config, request requests.Request, webhook Webhook) (*Outcome, error) {
	m, err := newReviewed(ctx, config, request, webhook)
	if err != nil {
		return nil, Named(err)
	}
	if err := m.Prepare(ctx); err != nil {
		return nil, fmt.Errorf("creating the objects that the request needs: %w", err)
	}
	sent, err := listen(webhook, m.concerns)
	if err != nil {
		return nil, err
	}
	defer sent.close()
	if err := m.register(ctx, sent, webhook); err != nil {
		return nil, fmt.Errorf("registering the webhook: %w", err)
	}
	response := m.Make(ctx)
	outcome := &Outcome{Err: Named(response.Err), Warnings: response.Warnings}
	if outcome.Exchanges, err = sent.all(ctx); err != nil {
		return nil, err
	}
	if len(outcome.Exchanges) == 0 {
		if outcome.Err == nil {
			outcome.Err = errors.New("the server calls no webhook for the request: as kube-apiserver since 1.37, it hides the kinds of " +
				"authentication.k8s.io and authorization.k8s.io from webhooks, besides webhook configurations and policies")
		}
		return nil, fmt.Errorf("no review was sent: %w%s", outcome.Err, m.missing(outcome.Err))
	}
	if !webhook.Validating && (outcome.Err == nil || !isOfWebhook(outcome.Err)) {
		outcome.Dropped, err = m.dropped(ctx, outcome.Exchanges[0])
	}
	return outcome, err
}
