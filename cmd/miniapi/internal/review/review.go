// Package review makes one request to a server, and the server calls a webhook. The package returns the AdmissionReview
// of that call, and tells whether the server accepts the webhook's response. The package creates everything that the
// request needs, so the command "miniapi review" runs a server of its own. Don't use the package with a server that has
// other users.
package review

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Request is the API request about which the server sends a review to the webhook.
type Request struct {
	// Operation is CREATE, UPDATE, DELETE or CONNECT. If it is empty, it follows from the other fields.
	Operation admissionv1.Operation
	// Objects has the object of the request. The deletion of a Collection may have several objects. A Patch has no
	// object, except for an apply configuration.
	Objects []*unstructured.Unstructured
	// Old is the object before an update; by default, it is equal to the object of the request. If the object of the
	// request belongs to a subresource, such as a Scale, an Eviction or PodExecOptions, Old is the object of the parent
	// resource.
	Old *unstructured.Unstructured
	// Collection, if true, makes one request that deletes all objects. The server sends a review for each object.
	Collection bool
	// Patch, if it isn't nil, is the patch that the request sends: a patch of Old, or a server-side apply.
	Patch *Patch
	// Subresource is the subresource of the request, or "". It can be empty for an object that only one subresource takes,
	// such as an Eviction.
	Subresource string
	// Name is the name in the path of a CONNECT request, such as the name of a service with a scheme and a port. By
	// default, it is the object's name.
	Name string
	// Namespace is the namespace for objects that don't name a namespace.
	Namespace string
	Options   Options
	// As is the user of the request. Without a name, the admin makes the request.
	As rest.ImpersonationConfig
}

// Patch is a patch of an object.
type Patch struct {
	Type types.PatchType
	Body []byte
}

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

// Check returns an error if the fields of the request don't fit each other. Do also checks the request against its
// server.
func (r Request) Check() error {
	if r.Operation != "" && !oneOf(string(r.Operation), operations()) {
		return unfit("--operation %q: must be CREATE, UPDATE, DELETE or CONNECT", r.Operation)
	}
	if r.Collection && r.Operation != "" && r.Operation != admissionv1.Delete {
		return unfit("--collection: --operation must be DELETE, got %s", r.Operation)
	}
	if r.Patch != nil && r.Patch.Type != types.ApplyPatchType && r.Old == nil {
		return unfit("--patch: give --old too, with the object that is patched")
	}
	if r.Patch != nil && r.Collection {
		return unfit("--patch and --collection: give one of them, because --patch is for an UPDATE and --collection for a DELETE")
	}
	if r.As.UserName == "" && (len(r.As.Groups) > 0 || len(r.As.Extra) > 0 || r.As.UID != "") {
		return unfit("--as-group, --as-uid or --as-user-extra: give --as too, with the user")
	}
	return r.sameCollection()
}

// sameCollection returns an error if there are several objects without Collection, or if the objects differ in their
// kind or namespace. It also returns an error if an object names another namespace than the request.
func (r Request) sameCollection() error {
	if len(r.Objects) > 1 && !r.Collection {
		return unfit("-f: must have one object, got %d: --collection deletes several", len(r.Objects))
	}
	for _, object := range r.Objects {
		first := r.Objects[0]
		if object.GroupVersionKind() != first.GroupVersionKind() || object.GetNamespace() != first.GetNamespace() {
			return unfit("-f: a collection has objects of one kind in one namespace, got a %s in %q and a %s in %q",
				first.GetKind(), first.GetNamespace(), object.GetKind(), object.GetNamespace())
		}
	}
	for _, object := range append(r.Objects[:len(r.Objects):len(r.Objects)], r.Old) {
		if object != nil && r.Namespace != "" && object.GetNamespace() != "" && object.GetNamespace() != r.Namespace {
			return unfit("--namespace %q: must be the namespace of the object, %q", r.Namespace, object.GetNamespace())
		}
	}
	return nil
}

// Do makes the request to a server with the credentials of config, and returns the result, with the reviews that the
// webhook got.
func Do(ctx context.Context, config *rest.Config, request Request, webhook Webhook) (*Outcome, error) {
	if err := request.Check(); err != nil {
		return nil, err
	}
	m, err := newMaker(ctx, config, request, webhook)
	if err != nil {
		return nil, err
	}
	if err := m.prepare(ctx); err != nil {
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
	outcome := &Outcome{Err: m.make(ctx), Warnings: m.warnings.texts()}
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
