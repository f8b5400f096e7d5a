package kubelet

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The pod of a StatefulSet may be deleted and made again while the kubelet patches the old one.
func TestIsReplaced(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, field string
		want                bool
	}{
		{"uid", "another pod has the name", "metadata.uid", true},
		{"status", "the stage writes what is invalid", "status.phase", false},
	} {
		invalid := field.Invalid(field.NewPath(test.field), "a", "field is immutable")
		err := fmt.Errorf("step: %w", apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "db-0", field.ErrorList{invalid}))
		if got := isReplaced(err); got != test.want {
			t.Errorf("%s: want %t, got %t: %s", test.name, test.want, got, test.reason)
		}
	}
	if isReplaced(nil) {
		t.Error("a success isn't a replacement")
	}
}
