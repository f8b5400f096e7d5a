package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	webhookrequest "k8s.io/apiserver/pkg/admission/plugin/webhook/request"
	"k8s.io/client-go/rest"
)

// review is an AdmissionReview for one webhook.
type review struct {
	uid  types.UID
	body []byte
	// response is the object into which the webhook's response is decoded.
	response runtime.Object
	// received is the webhook's answer.
	received []byte
}

// reviews encodes the reviews of one request. It encodes the object once after each change, and the rest once for all
// webhooks that get the same version.
type reviews struct {
	mu        sync.Mutex
	envelopes map[question]envelope
	// object is the last object that was encoded, and encoded is its JSON.
	object  runtime.Object
	encoded []byte
}

// question has all differences between the reviews of a request, except the uid and the object.
type question struct {
	reviewVersion schema.GroupVersion
	kind          schema.GroupVersionKind
	resource      schema.GroupVersionResource
}

// envelope is the JSON of a review without its uid and its object.
type envelope struct{ begin, middle, end []byte }

// encode returns the review for a webhook.
func (r *reviews) encode(attributes *admission.VersionedAttributes, invocation *generic.WebhookInvocation) (*review, error) {
	uid, request, response, err := webhookrequest.CreateAdmissionObjects(attributes, invocation)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	object := []byte("null")
	if o := attributes.VersionedObject.Object(); o != nil {
		if object, err = r.encodeObject(o); err != nil {
			return nil, err
		}
	}
	envelope, err := r.envelope(request, uid, invocation)
	if err != nil {
		return nil, err
	}
	return &review{uid, slices.Concat(envelope.begin, []byte(uid), envelope.middle, object, envelope.end), response, nil}, nil
}

// envelope returns the JSON around the uid and the object of a review with that uid.
func (r *reviews) envelope(request runtime.Object, uid types.UID, invocation *generic.WebhookInvocation) (envelope, error) {
	// A unique value marks the place of the object.
	object := runtime.RawExtension{Raw: strconv.AppendQuote(nil, string(uuid.NewUUID()))}
	var version schema.GroupVersion
	switch review := request.(type) {
	case *admissionv1.AdmissionReview:
		version, review.Request.Object = admissionv1.SchemeGroupVersion, object
	case *admissionv1beta1.AdmissionReview:
		version, review.Request.Object = admissionv1beta1.SchemeGroupVersion, object
	default:
		return envelope{}, fmt.Errorf("review of unknown type %T", request)
	}
	asked := question{version, invocation.Kind, invocation.Resource}
	if found, ok := r.envelopes[asked]; ok {
		return found, nil
	}
	request.GetObjectKind().SetGroupVersionKind(version.WithKind("AdmissionReview")) // encoders of a scheme do so too
	encoded, err := json.Marshal(request)
	if err != nil {
		return envelope{}, err
	}
	var e envelope
	e.begin, encoded, _ = bytes.Cut(encoded, []byte(uid)) // the uid comes first in a request
	e.middle, e.end, _ = bytes.Cut(encoded, object.Raw)
	if r.envelopes == nil {
		r.envelopes = map[question]envelope{}
	}
	r.envelopes[asked] = e
	return e, nil
}

// encodeObject returns the JSON of an object. An object that changes without a call of forget keeps its old JSON.
func (r *reviews) encodeObject(object runtime.Object) ([]byte, error) {
	if r.object == object {
		return r.encoded, nil
	}
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	r.object, r.encoded = object, encoded
	return encoded, nil
}

// forget is called after a patch: the object has changed, and conversions may change objects in place.
func (r *reviews) forget() { r.object, r.encoded = nil, nil }

// exchange sends the review and decodes the response.
func (r *review) exchange(ctx context.Context, client *rest.RESTClient) error {
	request := client.Post().SetHeader("Content-Type", runtime.ContentTypeJSON).Body(r.body)
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left > 0 {
			request.Timeout(roundUp(left)) // the parameter timeout, for the webhook
		}
	}
	result := request.Do(ctx)
	var err error
	if r.received, err = result.Raw(); err == nil && r.decode(r.received) {
		return nil
	}
	return result.Into(r.response)
}

// decode decodes a plain v1 response. It returns false for all others, for which the library's decoder looks for the
// version first and converts at the end.
func (r *review) decode(body []byte) bool {
	response, ok := r.response.(*admissionv1.AdmissionReview)
	if !ok {
		return false
	}
	decoded := admissionv1.AdmissionReview{}
	if err := utiljson.Unmarshal(body, &decoded); err != nil || decoded.GroupVersionKind() != admissionv1.SchemeGroupVersion.WithKind("AdmissionReview") {
		return false
	}
	*response = decoded
	return true
}

// roundUp rounds up to seconds.
func roundUp(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}
