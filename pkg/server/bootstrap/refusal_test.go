package bootstrap

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// TestIsRefusal checks that IsRefusal returns true for refusals by admission, and false for other failures. A start
// continues after refusals.
func TestIsRefusal(t *testing.T) {
	t.Parallel()
	pods := corev1.Resource("pods")
	for _, test := range []struct {
		name, reason string
		err          error
		want         bool
	}{
		{"none", "nothing is refused", nil, false},
		{"forbidden", "an admission plugin refuses the object", apierrors.NewForbidden(pods, "p", errors.New("no")), true},
		{"invalid", "a policy refuses the object",
			apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "p", nil), true},
		{"webhook", "the webhook doesn't answer", apierrors.NewInternalError(errors.New("failed calling webhook")), true},
		{"timeout", "the store doesn't answer", apierrors.NewTimeoutError("etcd", 1), false},
		{"store", "the store has failed",
			&apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: "etcdserver: no leader"}}, false},
		{"connection", "the server doesn't answer", errors.New("connection refused"), false},
		{"two", "both errors are refusals",
			utilerrors.NewAggregate([]error{apierrors.NewForbidden(pods, "p", errors.New("no")), apierrors.NewForbidden(pods, "q", errors.New("no"))}),
			true},
		{"one of two", "the second error isn't a refusal",
			utilerrors.NewAggregate([]error{apierrors.NewForbidden(pods, "p", errors.New("no")), errors.New("connection refused")}),
			false},
	} {
		err := test.err
		var several utilerrors.Aggregate
		if err != nil && !errors.As(err, &several) {
			err = fmt.Errorf("create: %w", err)
		}
		if got := IsRefusal(err); got != test.want {
			t.Errorf("%s: %s: want %t, got %t", test.name, test.reason, test.want, got)
		}
	}
}
