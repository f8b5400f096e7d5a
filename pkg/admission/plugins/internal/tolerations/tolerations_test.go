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
	shortValue := corev1.Toleration{Key: "k", Operator: equal, Value: "v", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(10))}
	longValue := corev1.Toleration{Key: "k", Operator: equal, Value: "v", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(20))}
	forever := corev1.Toleration{Key: "k", Operator: exists, Effect: corev1.TaintEffectNoExecute}
	schedule := corev1.Toleration{Key: "k", Operator: exists, Effect: corev1.TaintEffectNoSchedule}
	pointless := corev1.Toleration{Key: "k", Operator: exists, Effect: corev1.TaintEffectNoSchedule, TolerationSeconds: new(int64(10))}
	keyOfEffect := corev1.Toleration{Key: "k", Operator: exists, Effect: corev1.TaintEffectPreferNoSchedule}
	other := corev1.Toleration{Key: "k", Operator: equal, Value: "w"}
	implied := corev1.Toleration{Key: "k", Value: "v"}
	ofEffect := corev1.Toleration{Key: "k", Operator: equal, Value: "v", Effect: corev1.TaintEffectNoExecute}
	greater := corev1.Toleration{Key: "k", Operator: "Gt", Value: "v"}
	tests := []struct {
		name, reason        string
		first, second, want []corev1.Toleration
	}{
		{name: "same", reason: "one of two equal tolerations is enough", first: []corev1.Toleration{key},
			second: []corev1.Toleration{key}, want: []corev1.Toleration{key}},
		{name: "covered later", reason: "a toleration of any value covers this value",
			first: []corev1.Toleration{value}, second: []corev1.Toleration{key}, want: []corev1.Toleration{key}},
		{name: "covered before", reason: "a toleration of every taint covers this taint",
			first: []corev1.Toleration{all}, second: []corev1.Toleration{key}, want: []corev1.Toleration{all}},
		{name: "longer", reason: "a longer toleration covers a shorter one", first: []corev1.Toleration{short},
			second: []corev1.Toleration{long}, want: []corev1.Toleration{long}},
		{name: "longer first", reason: "a longer toleration covers a shorter one", first: []corev1.Toleration{long},
			second: []corev1.Toleration{short}, want: []corev1.Toleration{long}},
		{name: "as long", reason: "of two equal tolerations, the first stays", first: []corev1.Toleration{short},
			second: []corev1.Toleration{short}, want: []corev1.Toleration{short}},
		{name: "for ever", reason: "a toleration without seconds lasts longest", first: []corev1.Toleration{short},
			second: []corev1.Toleration{forever}, want: []corev1.Toleration{forever}},
		{name: "for ever first", reason: "a toleration without seconds lasts longest",
			first: []corev1.Toleration{forever}, second: []corev1.Toleration{short},
			want: []corev1.Toleration{forever}},
		{name: "any effect", reason: "a toleration of any effect covers a single effect",
			first: []corev1.Toleration{key}, second: []corev1.Toleration{short}, want: []corev1.Toleration{key}},
		{name: "other effect", reason: "neither toleration covers the other's effect",
			first: []corev1.Toleration{schedule}, second: []corev1.Toleration{forever},
			want: []corev1.Toleration{schedule, forever}},
		{name: "seconds of another effect", reason: "the seconds only count for the effect NoExecute",
			first: []corev1.Toleration{pointless}, second: []corev1.Toleration{schedule},
			want: []corev1.Toleration{schedule}},
		{name: "other value", reason: "neither toleration covers the other's value", first: []corev1.Toleration{value},
			second: []corev1.Toleration{other}, want: []corev1.Toleration{value, other}},
		{name: "value by default", reason: "without an operator, the values must be equal",
			first: []corev1.Toleration{implied}, second: []corev1.Toleration{value},
			want: []corev1.Toleration{implied}},
		{name: "value of an effect", reason: "a toleration of any effect covers this effect",
			first: []corev1.Toleration{value}, second: []corev1.Toleration{ofEffect}, want: []corev1.Toleration{value}},
		{name: "any value", reason: "a toleration of one value doesn't include any value",
			first: []corev1.Toleration{value}, second: []corev1.Toleration{keyOfEffect},
			want: []corev1.Toleration{value, keyOfEffect}},
		{name: "no key", reason: "an empty key stands for every key only with the operator Exists",
			first: []corev1.Toleration{{Operator: equal, Value: "v"}}, second: []corev1.Toleration{value},
			want: []corev1.Toleration{{Operator: equal, Value: "v"}, value}},
		{name: "comparison", reason: "greater isn't equal", first: []corev1.Toleration{greater},
			second: []corev1.Toleration{value}, want: []corev1.Toleration{greater, value}},
		{name: "seconds of another effect first", reason: "the seconds only count for the effect NoExecute",
			first: []corev1.Toleration{schedule}, second: []corev1.Toleration{pointless},
			want: []corev1.Toleration{pointless}},
		{name: "value for as long", reason: "a toleration of any value covers this value",
			first: []corev1.Toleration{short}, second: []corev1.Toleration{shortValue},
			want: []corev1.Toleration{short}},
		{name: "value for longer", reason: "a longer toleration covers a shorter one",
			first: []corev1.Toleration{longValue}, second: []corev1.Toleration{shortValue},
			want: []corev1.Toleration{longValue}},
		{name: "same comparison", reason: "one of two equal tolerations is enough", first: []corev1.Toleration{greater},
			second: []corev1.Toleration{greater}, want: []corev1.Toleration{greater}},
		{name: "same again", reason: "of two equal tolerations, the first stays at its place",
			first: []corev1.Toleration{key, {Key: "l", Operator: exists}}, second: []corev1.Toleration{key},
			want: []corev1.Toleration{key, {Key: "l", Operator: exists}}},
		{name: "different", reason: "neither toleration covers the other's key", first: []corev1.Toleration{value},
			second: []corev1.Toleration{{Key: "l", Operator: exists}},
			want:   []corev1.Toleration{value, {Key: "l", Operator: exists}}},
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

func TestAllowed(t *testing.T) {
	t.Parallel()
	key := corev1.Toleration{Key: "k", Operator: corev1.TolerationOpExists}
	other := corev1.Toleration{Key: "l", Operator: corev1.TolerationOpExists}
	tests := []struct {
		name, reason  string
		list, allowed []corev1.Toleration
		want          bool
	}{
		{name: "no list", reason: "all are allowed", list: []corev1.Toleration{key, other}, want: true},
		{name: "nothing tolerated", reason: "a pod without tolerations needs no permission",
			allowed: []corev1.Toleration{key}, want: true},
		{name: "covered", reason: "each toleration of the pod is covered by a toleration in the list",
			list: []corev1.Toleration{key, other}, allowed: []corev1.Toleration{other, key}, want: true},
		{name: "not covered", reason: "the list covers only one of the pod's tolerations",
			list: []corev1.Toleration{key, other}, allowed: []corev1.Toleration{key}},
	}
	for _, test := range tests {
		if got := Allowed(test.list, test.allowed); got != test.want {
			t.Errorf("%s: %t, want %t: %s", test.name, got, test.want, test.reason)
		}
	}
}
