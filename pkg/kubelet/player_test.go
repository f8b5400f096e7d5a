package kubelet

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A stage may fail because its object has changed meanwhile. The pod of a StatefulSet may be deleted and made again while
// the kubelet patches the old one.
func TestErrorsOfStages(t *testing.T) {
	t.Parallel()
	widgets := schema.GroupResource{Resource: "widgets"}
	invalid := func(name string) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "db-0", field.ErrorList{field.Invalid(field.NewPath(name), "a", "field is immutable")})
	}
	for _, test := range []struct {
		name, reason string
		err          error
		stale, again bool
	}{
		{"uid", "another pod has the name", invalid("metadata.uid"), true, true},
		{"status", "the stage writes what is invalid", invalid("status.phase"), false, true},
		{"gone", "the object was deleted", apierrors.NewNotFound(widgets, "w"), true, false},
		{"conflict", "the object has changed", apierrors.NewConflict(widgets, "w", errors.New("changed")), true, false},
		{"subresource", "the definition has no status", apierrors.NewGenericServerResponse(http.StatusNotFound, "PATCH", widgets, "w", "", 0, true), false, true},
		{"template", "the template can't be executed", errors.New("template"), false, true},
		{"server", "the server may answer later", apierrors.NewInternalError(errors.New("etcd")), false, false},
	} {
		err := fmt.Errorf("step: %w", test.err)
		if stale, again := isStale(err), failsAgain(err); stale != test.stale || again != test.again {
			t.Errorf("%s: want stale %t and again %t, got %t and %t: %s", test.name, test.stale, test.again, stale, again, test.reason)
		}
	}
}

// A patch names the object for which it was made, unless it changes nothing.
func TestWithUID(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, patch, want string }{
		{"status", "the UID is added", `{"status":{"a":1}}`, `{"metadata":{"uid":"u"},"status":{"a":1}}`},
		{"metadata", "the metadata of the patch stays", `{"metadata":{"labels":{"a":"b"}}}`, `{"metadata":{"labels":{"a":"b"},"uid":"u"}}`},
		{"no status", "nothing changes", `{"status":{}}`, ``},
		{"nothing", "nothing changes", `{}`, ``},
	} {
		if got, err := withUID([]byte(test.patch), "u"); err != nil || string(got) != test.want {
			t.Errorf("%s: want %s, got %s and %v: %s", test.name, test.want, got, err, test.reason)
		}
	}
}
