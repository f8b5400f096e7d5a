package priority

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func class(name string, value int32, isDefault bool, policy corev1.PreemptionPolicy) *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, GlobalDefault: isDefault, PreemptionPolicy: &policy}
}

func TestPods(t *testing.T) {
	t.Parallel()
	const preempt, never = corev1.PreemptLowerPriority, corev1.PreemptNever
	high, normal := class("high", 1000, false, never), class("normal", 10, true, preempt)
	spec := func(class string, priority int32, policy corev1.PreemptionPolicy) corev1.PodSpec {
		return corev1.PodSpec{PriorityClassName: class, Priority: &priority, PreemptionPolicy: &policy}
	}
	tests := []struct {
		name, reason string
		classes      []runtime.Object
		old          *corev1.PodSpec
		pod, want    corev1.PodSpec
		refusal      string
	}{
		{name: "no default", reason: "without a default class, the priority is 0", want: spec("", 0, preempt)},
		{name: "default", reason: "the default class counts for pods without a class",
			classes: []runtime.Object{high, normal}, want: spec("normal", 10, preempt)},
		{name: "named", reason: "the priority and the preemption policy come from the class",
			classes: []runtime.Object{high, normal}, pod: corev1.PodSpec{PriorityClassName: "high"},
			want: spec("high", 1000, never)},
		{name: "same values given", reason: "a pod that was read can be created again", classes: []runtime.Object{high},
			pod: spec("high", 1000, never), want: spec("high", 1000, never)},
		{name: "missing", reason: "a class must exist", pod: corev1.PodSpec{PriorityClassName: "gone"},
			refusal: "no PriorityClass with name gone was found"},
		{name: "other value given", reason: "users name classes, not numbers",
			pod:     corev1.PodSpec{Priority: new(int32(7))},
			refusal: "the integer value of priority (7) must not be provided in pod spec; priority admission controller computed 0"},
		{name: "other policy given", reason: "users name classes, not policies", classes: []runtime.Object{high},
			pod:     corev1.PodSpec{PriorityClassName: "high", PreemptionPolicy: new(preempt)},
			refusal: "the string value of PreemptionPolicy (PreemptLowerPriority)"},
		{name: "update", reason: "an update keeps the resolved priority, even if the class has changed",
			old: new(spec("high", 1000, never)), pod: corev1.PodSpec{PriorityClassName: "high"},
			want: spec("high", 1000, never)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, nil, test.classes...)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: test.pod}
			request := plugintest.Create(pod)
			if test.old != nil {
				request = plugintest.Update(&corev1.Pod{Spec: *test.old}, pod)
			}
			plugintest.Run(t, p, request, test.refusal)
			if diff := cmp.Diff(test.want, pod.Spec); test.refusal == "" && diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestPodGroups(t *testing.T) {
	t.Parallel()
	high, normal := class("high", 1000, false, corev1.PreemptNever), class("normal", 10, true, corev1.PreemptLowerPriority)
	spec := func(class string, priority int32, policy schedulingv1beta1.PreemptionPolicy) schedulingv1beta1.PodGroupSpec {
		return schedulingv1beta1.PodGroupSpec{PriorityClassName: class, Priority: &priority, PreemptionPolicy: &policy}
	}
	const preempt, never = schedulingv1beta1.PreemptLowerPriority, schedulingv1beta1.PreemptNever
	tests := []struct {
		name, reason string
		classes      []runtime.Object
		old          *schedulingv1beta1.PodGroupSpec
		group, want  schedulingv1beta1.PodGroupSpec
		refusal      string
	}{
		{name: "no default", reason: "without a default class, the priority is 0", want: spec("", 0, preempt)},
		{name: "default", reason: "the default class counts for groups without a class",
			classes: []runtime.Object{high, normal}, want: spec("normal", 10, preempt)},
		{name: "named", reason: "a scheduler looks at the number alone", classes: []runtime.Object{high, normal},
			group: schedulingv1beta1.PodGroupSpec{PriorityClassName: "high"}, want: spec("high", 1000, never)},
		{name: "missing", reason: "a class must exist",
			group:   schedulingv1beta1.PodGroupSpec{PriorityClassName: "gone"},
			refusal: "no PriorityClass with name gone was found"},
		{name: "other value given", reason: "the priority must be that of the class",
			group:   schedulingv1beta1.PodGroupSpec{Priority: new(int32(7))},
			refusal: "priority set in the pod group (7) must match the priority computed (0) based on the priority class set in the spec"},
		{name: "update", reason: "the policy has a default, and the priority is the client's to repeat",
			old: new(spec("high", 1000, never)), group: schedulingv1beta1.PodGroupSpec{PriorityClassName: "high"},
			want: schedulingv1beta1.PodGroupSpec{PriorityClassName: "high", PreemptionPolicy: new(never)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, nil, test.classes...)
			group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "g"}, Spec: test.group}
			request := plugintest.Create(group)
			if test.old != nil {
				request = plugintest.Update(&schedulingv1beta1.PodGroup{Spec: *test.old}, group)
			}
			plugintest.Run(t, p, request, test.refusal)
			if diff := cmp.Diff(test.want, group.Spec); test.refusal == "" && diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestCompositePodGroups(t *testing.T) {
	t.Parallel()
	p := New()
	plugintest.Start(t, p, nil, class("high", 1000, false, corev1.PreemptNever))
	group := &schedulingv1alpha3.CompositePodGroup{ObjectMeta: metav1.ObjectMeta{Name: "g"}, Spec: schedulingv1alpha3.CompositePodGroupSpec{PriorityClassName: "high"}}
	plugintest.Run(t, p, plugintest.Create(group), "")
	want := schedulingv1alpha3.CompositePodGroupSpec{PriorityClassName: "high", Priority: new(int32(1000)), PreemptionPolicy: new(schedulingv1alpha3.PreemptNever)}
	if diff := cmp.Diff(want, group.Spec); diff != "" {
		t.Errorf("a group of groups has the priority of its class (-want +got):\n%s", diff)
	}
	group.Spec.Priority = new(int32(7))
	plugintest.Run(t, p, plugintest.Create(group), "priority set in the composite pod group (7) must match the priority computed (1000) based on the priority class set in the spec")
}

func TestClasses(t *testing.T) {
	t.Parallel()
	existing := class("normal", 10, true, corev1.PreemptLowerPriority)
	other := class("other", 5, true, corev1.PreemptLowerPriority)
	tests := []struct {
		name, reason, refusal string
		request               plugintest.Request
	}{
		{name: "second default", reason: "only one class can be the default", request: plugintest.Create(other),
			refusal: "PriorityClass normal is already marked as default. Only one default can exist"},
		{name: "second default by update", reason: "only one class can be the default",
			request: plugintest.Update(other, other), refusal: "already marked as default"},
		{name: "same default", reason: "the default may be updated", request: plugintest.Update(existing, existing)},
		{name: "no default", reason: "a class that isn't the default needs no check",
			request: plugintest.Create(class("low", 1, false, corev1.PreemptNever))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, nil, existing)
			plugintest.Run(t, p, test.request, test.refusal)
		})
	}
}
