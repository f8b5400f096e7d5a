package reader

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

func TestGet(t *testing.T) {
	t.Parallel()
	missing, broken := apierrors.NewNotFound(corev1.Resource("pods"), "a"), errors.New("broken")
	for _, test := range []struct {
		name, reason string
		cached, live error
		want         string
		err          error
	}{
		{"cached", "the informer has the object", nil, missing, "cached", nil},
		{"live", "another process has written the object", missing, nil, "live", nil},
		{"missing", "no server has the object", missing, missing, "", missing},
		{"broken", "the error of a lister doesn't show whether the object exists", broken, nil, "", broken},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			read := func(from string, err error) (string, error) {
				if err != nil {
					return "", err
				}
				return from, nil
			}
			got, err := Get(t.Context(), "a",
				func(string) (string, error) { return read("cached", test.cached) },
				func(context.Context, string, metav1.GetOptions) (string, error) { return read("live", test.live) })
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("%s: want %q and error %v, got %q and %v", test.reason, test.want, test.err, got, err)
			}
		})
	}
}

// A plugin that gets no client or no lister makes the construction of the chain fail.
func TestValidateInitialization(t *testing.T) {
	t.Parallel()
	if NewHandler(admission.Create).ValidateInitialization() == nil {
		t.Error("a handler without a client: want an error")
	}
	if NewListerHandler[any](nil, admission.Create).ValidateInitialization() == nil {
		t.Error("a handler without a lister: want an error")
	}
}
