package podspec

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestQOSClass(t *testing.T) {
	t.Parallel()
	list := func(cpu, memory string) corev1.ResourceList {
		l := corev1.ResourceList{}
		for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
			if text != "" {
				l[name] = resource.MustParse(text)
			}
		}
		return l
	}
	tests := []struct {
		name, reason string
		spec         corev1.PodSpec
		want         corev1.PodQOSClass
	}{{
		name: "nothing", reason: "a pod without requests gets the remaining capacity", want: corev1.PodQOSBestEffort,
		spec: corev1.PodSpec{Containers: []corev1.Container{{}}},
	}, {
		name: "zero", reason: "a request of zero equals no request", want: corev1.PodQOSBestEffort,
		spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("0", "")}}}},
	}, {
		name: "limits", reason: "every container has limits, and requests as much", want: corev1.PodQOSGuaranteed,
		spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("1", "1Gi"), Limits: list("1", "1Gi")}}}},
	}, {
		name: "init container", reason: "one container without limits takes the guarantee away", want: corev1.PodQOSBurstable,
		spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{}},
			Containers:     []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("1", "1Gi"), Limits: list("1", "1Gi")}}},
		},
	}, {
		name: "lower requests", reason: "limits exceed the requests", want: corev1.PodQOSBurstable,
		spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("500m", "1Gi"), Limits: list("1", "1Gi")}}}},
	}, {
		name: "equal sums", reason: "each container has its own guarantee", want: corev1.PodQOSBurstable,
		spec: corev1.PodSpec{Containers: []corev1.Container{
			{Resources: corev1.ResourceRequirements{Requests: list("1", "1Gi"), Limits: list("2", "1Gi")}},
			{Resources: corev1.ResourceRequirements{Requests: list("2", "1Gi"), Limits: list("1", "1Gi")}},
		}},
	}, {
		name: "one resource", reason: "memory has no guarantee", want: corev1.PodQOSBurstable,
		spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("1", ""), Limits: list("1", "")}}}},
	}, {
		name: "less than nothing", reason: "kube-apiserver computes the class of an invalid amount, too", want: corev1.PodQOSBurstable,
		spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: list("", "-1")}}}},
	}, {
		name: "pod level", reason: "only resources of the pod as a whole count (KEP-2837)", want: corev1.PodQOSGuaranteed,
		spec: corev1.PodSpec{
			Resources:  &corev1.ResourceRequirements{Requests: list("1", "1Gi"), Limits: list("1", "1Gi")},
			Containers: []corev1.Container{{}},
		},
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := QOSClass(&corev1.Pod{Spec: test.spec}); got != test.want {
				t.Errorf("%s: got %s, want %s", test.reason, got, test.want)
			}
		})
	}
}
