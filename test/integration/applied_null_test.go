package integration_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// Server-side apply stores a null in a nullable field of a custom resource. In any other field, null is refused: an
// apply removes a field by leaving it out.
func TestAppliedNull(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithCRDs("testdata/gadgets.yaml"))
	gadgets := resources(srv, "example.com/v1", "gadgets")
	for _, tc := range []struct {
		name, reason string
		field        string
		first        any
		then         map[string]any
		want         map[string]any // the stored field, or nil if there is none
		refused      bool
	}{
		{
			name: "nullable value", reason: "null is a value of the field",
			field: "color", first: "red", then: map[string]any{"color": nil}, want: map[string]any{"color": nil},
		},
		{
			name: "nullable object", reason: "null replaces the whole object",
			field: "box", first: map[string]any{"size": "big"}, then: map[string]any{"box": nil}, want: map[string]any{"box": nil},
		},
		{
			name: "object", reason: "the field isn't nullable",
			field: "lid", first: map[string]any{"size": "big"}, then: map[string]any{"lid": nil},
			want: map[string]any{"lid": map[string]any{"size": "big"}}, refused: true,
		},
		{
			name: "left out", reason: "the manager no longer applies the field, and no other manager has applied it",
			field: "lid", first: map[string]any{"size": "big"}, then: map[string]any{}, want: map[string]any{},
		},
		{
			name: "default", reason: "a default replaces null in a field that isn't nullable",
			field: "replicas", first: int64(3), then: map[string]any{"replicas": nil}, want: map[string]any{"replicas": int64(1)},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			name := strings.ReplaceAll(tc.name, " ", "-")
			apply := func(spec map[string]any) error {
				_, err := gadgets.Apply(t.Context(), name, object("example.com/v1", "Gadget", name, map[string]any{"spec": spec}), metav1.ApplyOptions{FieldManager: "m"})
				return err
			}
			ok(t, apply(map[string]any{tc.field: tc.first}))
			if err := apply(tc.then); apierrors.IsInvalid(err) != tc.refused || err != nil && !tc.refused {
				t.Fatalf("%s: refused: want %t, got %v", tc.reason, tc.refused, err)
			}
			spec := fieldOf(must(gadgets.Get(t.Context(), name, metav1.GetOptions{}))(t), "spec").(map[string]any)
			got := map[string]any{}
			if value, found := spec[tc.field]; found {
				got[tc.field] = value
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: spec (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
