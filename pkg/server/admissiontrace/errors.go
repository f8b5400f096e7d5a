package admissiontrace

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// errorOf returns the record of an error of the API. It returns nil for other errors and for nil.
func errorOf(err error) *trace.Error {
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		return nil
	}
	s := status.Status()
	return &trace.Error{Code: int(s.Code), Reason: string(s.Reason), Message: s.Message}
}

// statusOf returns a recorded error as the error of an API response.
func statusOf(failure *trace.Error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(failure.Code), Reason: metav1.StatusReason(failure.Reason), Message: failure.Message,
	}}
}

// failureOf returns the error of a response. It returns nil if the status code is less than 400.
func failureOf(code int, body []byte, decoder runtime.Decoder) *trace.Error {
	if code < http.StatusBadRequest {
		return nil
	}
	decoded, _, err := decoder.Decode(body, nil, nil)
	if status, ok := decoded.(*metav1.Status); ok && err == nil {
		return &trace.Error{Code: code, Reason: string(status.Reason), Message: status.Message}
	}
	return &trace.Error{Code: code, Message: http.StatusText(code)}
}
