package bootstrap

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// IsRefusal tells whether an error is an error of an API with an HTTP status below 500 or with the reason
// InternalError. A refusal by admission has a status below 500, and the failure of a webhook has this reason. An
// aggregate is a refusal if all its errors are. A nil error isn't a refusal.
func IsRefusal(err error) bool {
	return err != nil && utilerrors.FilterOut(err, func(err error) bool {
		var answer apierrors.APIStatus
		if !errors.As(err, &answer) {
			return false
		}
		status := answer.Status()
		return status.Code < http.StatusInternalServerError || status.Reason == metav1.StatusReasonInternalError
	}) == nil
}
