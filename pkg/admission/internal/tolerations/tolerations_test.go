package tolerations

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	const exists, equal = corev1.TolerationOpExists, corev1.TolerationOpEqual
	all := corev1.Toleration{Operator: exists}
	key := corev1.Toleration{Key: "k", Operator: exists}
	value := corev1.Toleration{Key: "k", Operator: equal, Value: "v"}
	short := corev1.Toleration{Key: "k", Operator: exists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(10))}
	long := corev1.Toleration{Key: "k", Operator: exists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(20))}
	tests := []struct {
		name, reason        string
		first, second, want []corev1.Toleration
	}{
		{name: "same", reason: "one is enough", first: []corev1.Toleration{key}, second: []corev1.Toleration{key}, want: []corev1.Toleration{key}},
		{name: "covered later", reason: "any value includes this value", first: []corev1.Toleration{value}, second: []corev1.Toleration{key}, want: []corev1.Toleration{key}},
		{name: "covered before", reason: "every taint includes this one", first: []corev1.Toleration{all}, second: []corev1.Toleration{key}, want: []corev1.Toleration{all}},
		{name: "longer", reason: "who tolerates it longer tolerates it shorter", first: []corev1.Toleration{short}, second: []corev1.Toleration{long}, want: []corev1.Toleration{long}},
		{name: "different", reason: "both say something", first: []corev1.Toleration{value}, second: []corev1.Toleration{{Key: "l", Operator: exists}}, want: []corev1.Toleration{value, {Key: "l", Operator: exists}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, Merge(test.first, test.second)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
