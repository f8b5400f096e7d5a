package seed

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/server/direct"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

func TestCopies(t *testing.T) {
	t.Parallel()
	namespace := func(label string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"l": label}}}
	}
	key := func(settings, name string) copyKey {
		return copyKey{settings, direct.Place{Kind: corev1.SchemeGroupVersion.WithKind("Namespace"), Name: name}}
	}
	for _, test := range []struct {
		name, reason string
		key          copyKey
		given        *corev1.Namespace
		made         int
	}{
		{"same", "another server has stored an equal object", key("1.37", "default"), namespace("a"), 1},
		{"other object", "the given object differs from the copied object", key("1.37", "default"), namespace("b"), 2},
		{"other place", "no object was stored in this namespace", key("1.37", "kube-system"), namespace("a"), 2},
		{"other settings", "another version may store other fields", key("1.35", "default"), namespace("a"), 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var copies Copies
			made := 0
			create := func() (storage.Template, error) {
				made++
				return storage.NewTemplate(namespace("stored"), func(o runtime.Object) ([]byte, error) { return json.Marshal(o) })
			}
			if _, err := copies.template(key("1.37", "default"), namespace("a"), create); err != nil {
				t.Fatal(err)
			}
			if _, err := copies.template(test.key, test.given, create); err != nil {
				t.Fatal(err)
			}
			if made != test.made {
				t.Errorf("%s: want %d created objects, got %d", test.reason, test.made, made)
			}
		})
	}
}
