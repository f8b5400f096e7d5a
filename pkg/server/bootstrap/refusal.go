package bootstrap

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// IsRefusal tells whether all parts of an error are refusals by admission, or failures of a webhook that should have
// decided. A failure of the store isn't a refusal.
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
