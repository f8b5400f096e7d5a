package admissionwebhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

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
)

// review is the AdmissionReview for one call of a webhook.
type review struct {
	uid  types.UID
	body []byte
	// response is the empty AdmissionReview into which the response is decoded.
	response runtime.Object
	// received is the body of the response.
	received []byte
}

// reviews encodes the reviews of one request. It keeps the JSON of the object that it encoded last. It encodes the rest
// of a review only once for all webhooks whose reviews have the same version, kind and resource.
type reviews struct {
	mu        sync.Mutex
	envelopes map[question]envelope
	// object is the object that was encoded last. encoded is its JSON.
	object  runtime.Object
	encoded []byte
}

// question has everything in which the reviews of a request differ, apart from the uid and the object.
type question struct {
	reviewVersion schema.GroupVersion
	kind          schema.GroupVersionKind
	resource      schema.GroupVersionResource
}

// envelope is the JSON of a review, cut at the places of the uid and the object.
type envelope struct{ begin, middle, end []byte }

// encode returns the review for a call of a webhook.
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

// envelope returns the envelope of the AdmissionReview in request. The argument uid is the uid of this review.
func (r *reviews) envelope(request runtime.Object, uid types.UID, invocation *generic.WebhookInvocation) (envelope, error) {
	var version schema.GroupVersion
	var object *runtime.RawExtension
	switch review := request.(type) {
	case *admissionv1.AdmissionReview:
		version, object = admissionv1.SchemeGroupVersion, &review.Request.Object
	case *admissionv1beta1.AdmissionReview:
		version, object = admissionv1beta1.SchemeGroupVersion, &review.Request.Object
	default:
		return envelope{}, fmt.Errorf("review of type %T: must be an AdmissionReview of admission.k8s.io/v1 or v1beta1", request)
	}
	asked := question{version, invocation.Kind, invocation.Resource}
	if found, ok := r.envelopes[asked]; ok {
		return found, nil
	}
	// This unique text stands for the object. The envelope is cut at the text.
	*object = runtime.RawExtension{Raw: strconv.AppendQuote(nil, string(uuid.NewUUID()))}
	// Unlike an encoder of a scheme, json.Marshal doesn't set apiVersion and kind.
	request.GetObjectKind().SetGroupVersionKind(version.WithKind("AdmissionReview"))
	encoded, err := json.Marshal(request)
	if err != nil {
		return envelope{}, err
	}
	var e envelope
	// Cut at the first place of this value: the uid comes before the fields that a user can set to the same value.
	e.begin, encoded, _ = bytes.Cut(encoded, []byte(uid))
	e.middle, e.end, _ = bytes.Cut(encoded, object.Raw)
	if r.envelopes == nil {
		r.envelopes = map[question]envelope{}
	}
	r.envelopes[asked] = e
	return e, nil
}

// encodeObject returns the JSON of an object. After a change of the object in place, forget must be called.
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

// forget drops the encoded object. It is called after each patch, because a conversion may change the object in
// place.
func (r *reviews) forget() { r.object, r.encoded = nil, nil }

// decode decodes a response of the version v1. It returns false for any other response: the caller then uses
// k8s.io/apiserver's decoder, which is slower and converts other versions.
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
