package bootstrap

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// IsRefusal says whether all that failed was refused, or couldn't be judged because a webhook failed. A store
// that fails is none of it: nothing is known of what is there then.
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
