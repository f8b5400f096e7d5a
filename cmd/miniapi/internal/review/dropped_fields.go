package review

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// dropped names the fields that the webhook's patch sets and the kind of the object doesn't have. The server drops
// these fields without an error. To find these fields, dropped sends the patched object in a second request, a dry
// run with fieldValidation=Strict. Before, the function deletes the webhook configuration, so that the server doesn't call
// the webhook for the second request.
func (m *reviewed) dropped(ctx context.Context, exchange Exchange) (string, error) {
	review, object, err := exchange.patched()
	if err != nil || object == nil {
		return "", err
	}
	err = m.admin.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(ctx, configurationName, metav1.DeleteOptions{})
	if err != nil {
		return "", err
	}
	of := m.At() // the webhook may have got the object in another version
	of.GroupVersionResource = schema.GroupVersionResource(review.Resource)
	verb, elements := "POST", []string(nil)
	if of.Subresource != "" || m.Operation == admissionv1.Update {
		elements = []string{m.ObjectName(), of.Subresource}
	}
	if m.Operation == admissionv1.Update {
		verb = "PUT"
	}
	err = m.Admin(ctx, verb, of, elements, url.Values{
		"dryRun": {metav1.DryRunAll}, "fieldValidation": {metav1.FieldValidationStrict},
	}, object)
	if err == nil {
		return "", nil
	}
	// The server decodes an object before it does anything else with the object. So an error other than a strict decoding
	// error means that the server has found no unknown field.
	_, fields, found := strings.Cut(err.Error(), "strict decoding error: ")
	if !found {
		return "", nil
	}
	return fmt.Sprintf("%s in %s has %s", object.GetKind(), object.GetAPIVersion(), fields), nil
}

// patched returns the request of the review, and the object with the patch of the response. The object is nil if the
// response has no patch, or if the request is a CONNECT. Call patched only for a response whose patch the server has
// applied. The patch of another response may fail to apply.
func (e Exchange) patched() (*admissionv1.AdmissionRequest, *unstructured.Unstructured, error) {
	var asked, answered admissionv1.AdmissionReview
	if err := json.Unmarshal(e.Review, &asked); err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(e.Response, &answered); err != nil {
		return nil, nil, err
	}
	if answered.Response == nil || len(answered.Response.Patch) == 0 || asked.Request.Operation == admissionv1.Connect {
		return asked.Request, nil, nil
	}
	patch, err := jsonpatch.DecodePatch(answered.Response.Patch)
	if err != nil {
		return nil, nil, err
	}
	content, err := patch.Apply(asked.Request.Object.Raw)
	if err != nil {
		return nil, nil, err
	}
	object := &unstructured.Unstructured{}
	return asked.Request, object, json.Unmarshal(content, &object.Object)
}
