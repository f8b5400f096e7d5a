package conversion_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
)

// Hub, Old and Plain are the versions v1, v1beta1 and v1beta2 of a kind. Old has another name for Size, and no
// Color. Plain has the same JSON as Hub, but no Color.
type (
	Hub struct {
		metav1.TypeMeta `json:""`
		Name            string `json:"name,omitempty"`
		Size            int    `json:"size,omitempty"`
		Color           string `json:"color,omitempty"`
	}
	Old struct {
		metav1.TypeMeta `json:""`
		Name            string `json:"name,omitempty"`
		Length          int    `json:"length,omitempty"`
	}
	Plain struct {
		metav1.TypeMeta `json:""`
		Name            string `json:"name,omitempty"`
		Size            int    `json:"size,omitempty"`
	}
)

func (h *Hub) DeepCopyObject() runtime.Object   { c := *h; return &c }
func (o *Old) DeepCopyObject() runtime.Object   { c := *o; return &c }
func (p *Plain) DeepCopyObject() runtime.Object { c := *p; return &c }

// scheme returns the scheme of a group whose versions v1, v1beta1 and v1beta2 have the types Hub, Old and Plain.
func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for version, obj := range map[string]runtime.Object{"v1": &Hub{}, "v1beta1": &Old{}, "v1beta2": &Plain{}} {
		s.AddKnownTypeWithName(schema.GroupVersionKind{Group: "example.com", Version: version, Kind: "Thing"}, obj)
	}
	pairs := []conversion.Pair{
		{Hub: reflect.TypeFor[Hub](), Version: reflect.TypeFor[Old]()},
		{Hub: reflect.TypeFor[Hub](), Version: reflect.TypeFor[Plain]()},
	}
	functions := []conversion.Function{
		conversion.Renamed(func(in *Old, out *Hub) error {
			if in.Length < 0 {
				return errors.New("negative length")
			}
			out.Size = in.Length
			return nil
		}),
		conversion.Different(func(in *Hub, out *Old) error {
			out.Length = in.Size
			return nil
		}),
	}
	if err := conversion.Register(s, pairs, functions); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRegister(t *testing.T) {
	t.Parallel()
	s := scheme(t)
	kind := metav1.TypeMeta{Kind: "Kept"}
	for _, test := range []struct {
		name, reason  string
		in, out, want runtime.Object
	}{
		{"same JSON", "fields are copied by their names", &Hub{Name: "n", Size: 1, Color: "red"}, &Plain{}, &Plain{Name: "n", Size: 1}},
		{"missing field", "a version without the field doesn't clear it", &Plain{Name: "n"},
			&Hub{Name: "old", Size: 2, Color: "red"}, &Hub{Name: "n", Color: "red"}},
		{"renamed", "other fields are copied by their names", &Old{Name: "n", Length: 3}, &Hub{}, &Hub{Name: "n", Size: 3}},
		{"different", "the function alone sets fields, on an empty result", &Hub{Name: "n", Size: 3}, &Old{Name: "old"}, &Old{Length: 3}},
		{"same type", "the copy is shallow, and the caller sets the kind",
			&Hub{TypeMeta: metav1.TypeMeta{Kind: "Thing"}, Name: "n"}, &Hub{TypeMeta: kind},
			&Hub{TypeMeta: kind, Name: "n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := s.Convert(test.in, test.out, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, test.out); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestRegisterFails(t *testing.T) {
	t.Parallel()
	out := &Hub{Name: "old"}
	if err := scheme(t).Convert(&Old{Name: "n", Length: -1}, out, nil); err == nil {
		t.Error("the error of the function must fail the conversion")
	}
	if out.Name != "old" {
		t.Errorf("the name is %q, but a conversion that fails changes nothing", out.Name)
	}
}
