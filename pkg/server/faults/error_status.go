package faults

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// answer returns the error that the fault gives as the response. The texts of a conflict and of a timeout are the same
// as in kube-apiserver.
func (i *injection) answer() *apierrors.StatusError {
	s := i.subject
	resource := schema.GroupResource{Group: s.group, Resource: s.resource}
	switch i.effect {
	case conflict:
		return apierrors.NewConflict(resource, s.objectName(), errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	case timeout:
		return apierrors.NewTimeoutError("request did not complete within requested timeout - context deadline exceeded", i.retryAfter)
	}
	err := apierrors.NewGenericServerResponse(i.fault.Status, s.verb, resource, s.objectName(), "injected by fault "+i.fault.Name, i.retryAfter, false)
	if i.fault.Reason != "" {
		err.ErrStatus.Reason = metav1.StatusReason(i.fault.Reason)
	}
	if i.fault.Message != "" {
		err.ErrStatus.Message = i.fault.Message
	}
	return err
}

// fail writes an error as the response.
func fail(w http.ResponseWriter, req *http.Request, serializer runtime.NegotiatedSerializer, err error) {
	gv := schema.GroupVersion{}
	if info, ok := request.RequestInfoFrom(req.Context()); ok {
		gv = schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
	}
	responsewriters.ErrorNegotiated(err, serializer, gv, w, req)
}

// parseRetryAfter parses Fault.RetryAfter into seconds.
func parseRetryAfter(text string) (seconds int, err error) {
	if text == "" {
		return 0, nil
	}
	d, err := positive(text)
	if err == nil && d%time.Second != 0 {
		err = fmt.Errorf("%s isn't in whole seconds", d)
	}
	if err != nil {
		return 0, fmt.Errorf("retryAfter %q: must be a duration in seconds, such as 2s: %w", text, err)
	}
	return int(d / time.Second), nil
}
