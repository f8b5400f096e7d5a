package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	webhookrequest "k8s.io/apiserver/pkg/admission/plugin/webhook/request"
	"k8s.io/client-go/rest"
)

// review is an AdmissionReview for one webhook.
type review struct {
	uid  types.UID
	body []byte
	// response is what the webhook's answer is decoded into.
	response runtime.Object
}

// reviews encodes the reviews of one request.
type reviews struct {
	mu sync.Mutex
	// encoded has a review for each question that was asked; another webhook's has another uid.
	encoded map[question]review
}

// question is all that differs between reviews of a request, but for the uid.
type question struct {
	reviewVersion schema.GroupVersion
	kind          schema.GroupVersionKind
	resource      schema.GroupVersionResource
	// object isn't changed where it is, but for what forget is called.
	object runtime.Object
}

// encode returns the review to send to a webhook.
func (r *reviews) encode(attributes *admission.VersionedAttributes, invocation *generic.WebhookInvocation) (*review, error) {
	uid, request, response, err := webhookrequest.CreateAdmissionObjects(attributes, invocation)
	if err != nil {
		return nil, err
	}
	version, err := setKind(request)
	if err != nil {
		return nil, err
	}
	asked := question{version, invocation.Kind, invocation.Resource, attributes.VersionedObject.Object()}

	r.mu.Lock()
	defer r.mu.Unlock()
	if earlier, ok := r.encoded[asked]; ok {
		// The uid comes first in a request.
		return &review{uid, bytes.Replace(earlier.body, []byte(earlier.uid), []byte(uid), 1), response}, nil
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	if r.encoded == nil {
		r.encoded = map[question]review{}
	}
	r.encoded[asked] = review{uid: uid, body: body}
	return &review{uid, body, response}, nil
}

// forget is called when the object was patched: from here on it differs, and objects that it is converted to
// and from may be changed where they are.
func (r *reviews) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.encoded)
}

// setKind names the kind in a review, as only encoders of a scheme do, and returns its version.
func setKind(request runtime.Object) (schema.GroupVersion, error) {
	var version schema.GroupVersion
	switch request.(type) {
	case *admissionv1.AdmissionReview:
		version = admissionv1.SchemeGroupVersion
	case *admissionv1beta1.AdmissionReview:
		version = admissionv1beta1.SchemeGroupVersion
	default:
		return version, fmt.Errorf("review of unknown type %T", request)
	}
	request.GetObjectKind().SetGroupVersionKind(version.WithKind("AdmissionReview"))
	return version, nil
}

// exchange sends the review and decodes the response.
func (r *review) exchange(ctx context.Context, client *rest.RESTClient) error {
	request := client.Post().SetHeader("Content-Type", runtime.ContentTypeJSON).Body(r.body)
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left > 0 {
			request.Timeout(roundUp(left)) // tells the webhook
		}
	}
	result := request.Do(ctx)
	if body, err := result.Raw(); err == nil && r.decode(body) {
		return nil
	}
	return result.Into(r.response)
}

// decode decodes a response that is plainly what it should be. For all others the library's decoder has the say,
// which looks for the version first and converts at the end.
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

// roundUp returns whole seconds.
func roundUp(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}
