package miniapitest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AdmissionHandler makes an admission webhook from a function. The webhook reads an AdmissionReview of version v1 or
// v1beta1. It answers in the same version, with the function's response and the UID of the request. If the function is
// nil, the result is nil. WithWebhook refuses a nil handler.
func AdmissionHandler(review func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) http.Handler {
	if review == nil {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, err := readReview(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		response := review(r.Context(), asked.Request)
		if response == nil {
			http.Error(w, "the function of AdmissionHandler returned nil for "+r.URL.Path+": return Allowed, Denied or Patched", http.StatusInternalServerError)
			return
		}
		answer := admissionv1.AdmissionReview{TypeMeta: asked.TypeMeta, Response: response.DeepCopy()}
		answer.Response.UID = asked.Request.UID
		w.Header().Set("Content-Type", "application/json")
		// An error means that the client has closed the connection.
		_ = json.NewEncoder(w).Encode(answer)
	})
}

// readReview reads the request's AdmissionReview as v1. The JSON of v1beta1 has the same fields.
func readReview(r *http.Request) (*admissionv1.AdmissionReview, error) {
	review := &admissionv1.AdmissionReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil {
		return nil, fmt.Errorf("the body of the request for %s must be an AdmissionReview: %w", r.URL.Path, err)
	}
	switch review.GroupVersionKind() {
	case admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"), admissionv1beta1.SchemeGroupVersion.WithKind("AdmissionReview"):
	default:
		return nil, fmt.Errorf("the body of the request for %s must be an AdmissionReview of %s or %s, got kind %q of %q",
			r.URL.Path, admissionv1.SchemeGroupVersion, admissionv1beta1.SchemeGroupVersion, review.Kind, review.APIVersion)
	}
	if review.Request == nil {
		return nil, fmt.Errorf("the AdmissionReview for %s must have a request", r.URL.Path)
	}
	return review, nil
}

// Allowed admits the request, with warnings for the client.
func Allowed(warnings ...string) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Allowed: true, Warnings: warnings}
}

// Denied refuses the request with a message and the code 403.
func Denied(message string) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: message, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}}
}

// Patched admits the request with changes of the object. If JSON can't encode a value of the operations, Patched
// refuses the request.
func Patched(operations ...PatchOperation) *admissionv1.AdmissionResponse {
	patch, err := json.Marshal(operations)
	if err != nil {
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{
			Message: fmt.Sprintf("encoding the patch: %v", err), Code: http.StatusInternalServerError,
			Reason: metav1.StatusReasonInternalError,
		}}
	}
	patchType := admissionv1.PatchTypeJSONPatch
	return &admissionv1.AdmissionResponse{Allowed: true, Patch: patch, PatchType: &patchType}
}

// PatchOperation is one operation of a JSON patch (RFC 6902). In paths, "~1" stands for a slash:
// "/metadata/labels/example.com~1team".
type PatchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from,omitempty"`
	Value any    `json:"value"` // null for an operation without a value, such as remove
}

// Add sets a member of an object, or inserts an element into an array.
func Add(path string, value any) PatchOperation {
	return PatchOperation{Op: "add", Path: path, Value: value}
}

// Replace changes the value at the path.
func Replace(path string, value any) PatchOperation {
	return PatchOperation{Op: "replace", Path: path, Value: value}
}

// Remove removes the value at the path.
func Remove(path string) PatchOperation { return PatchOperation{Op: "remove", Path: path} }
