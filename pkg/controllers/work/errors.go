package work

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// IgnoreGone drops the error of a request for an object that doesn't exist.
func IgnoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// IgnoreStale drops the error of a write if another client has changed or deleted the object. The controller gets an
// event for that change, and handles the object again.
func IgnoreStale(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return IgnoreGone(err)
}
