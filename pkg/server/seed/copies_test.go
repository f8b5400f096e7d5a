package seed

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/server/direct"
)

// A copy is used in place of an object only if the server would store an equal object.
func TestCopies(t *testing.T) {
	t.Parallel()
	namespace := func(label string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"l": label}}}
	}
	key := func(settings, name string) copyKey {
		return copyKey{settings, direct.Place{Kind: corev1.SchemeGroupVersion.WithKind("Namespace"), Name: name}}
	}
	var copies Copies
	stored := namespace("a")
	stored.UID, stored.ResourceVersion = "1", "7"
	copies.add(key("1.37", "default"), namespace("a"), stored)
	for _, test := range []struct {
		name, reason string
		key          copyKey
		given        *corev1.Namespace
		want         bool
	}{
		{"same", "another server has stored an equal object", key("1.37", "default"), namespace("a"), true},
		{"other object", "the given object differs from the copied object", key("1.37", "default"), namespace("b"), false},
		{"other place", "no object was stored in this namespace", key("1.37", "kube-system"), namespace("a"), false},
		{"other settings", "another version may store other fields", key("1.35", "default"), namespace("a"), false},
	} {
		got := copies.get(test.key, test.given)
		if (got != nil) != test.want {
			t.Errorf("%s: %v, want a copy: %t: %s", test.name, got, test.want, test.reason)
		}
		if got == nil {
			continue
		}
		if copied := got.(*corev1.Namespace); copied.UID == "1" || copied.UID == "" || copied.ResourceVersion != "" || copied.CreationTimestamp.IsZero() {
			t.Errorf("%s: the copy isn't an object of its own: %v", test.name, copied.ObjectMeta)
		}
	}
}
