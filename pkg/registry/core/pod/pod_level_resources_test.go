package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestPodLevelResources(t *testing.T) {
	t.Parallel()
	type requirements = corev1.ResourceRequirements
	q := registrytest.Quantities
	for _, tc := range []struct {
		name, reason string
		pod          *requirements
		containers   []requirements
		want         *requirements
	}{
		{name: "none", reason: "a pod without resources of its own gets none", containers: []requirements{{Limits: q("cpu", "1")}}},
		{
			name: "empty", reason: "empty resources stay empty",
			pod: &requirements{}, containers: []requirements{{Limits: q("cpu", "1")}}, want: &requirements{},
		},
		{
			name:       "limits",
			reason:     "a request is the sum of the containers' requests, or else the pod's limit, and huge pages have equal limits",
			pod:        &requirements{Limits: q("cpu", "2", "memory", "1Gi")},
			containers: []requirements{{Requests: q("cpu", "1", "hugepages-2Mi", "4Mi"), Limits: q("hugepages-2Mi", "4Mi")}},
			want: &requirements{Limits: q("cpu", "2", "memory", "1Gi", "hugepages-2Mi", "4Mi"),
				Requests: q("cpu", "1", "memory", "1Gi", "hugepages-2Mi", "4Mi")},
		},
		{
			name: "requests", reason: "a pod without limits gets the requests that it lacks, too",
			pod:        &requirements{Requests: q("cpu", "1")},
			containers: []requirements{{Requests: q("memory", "1Gi")}, {Requests: q("memory", "1Gi")}},
			want:       &requirements{Requests: q("cpu", "1", "memory", "2Gi")},
		},
		{
			name: "all containers limited", reason: "a limit is the sum of the containers' limits if each has one",
			pod: &requirements{Requests: q("cpu", "1")}, containers: []requirements{{Limits: q("cpu", "1")}, {Limits: q("cpu", "2")}},
			want: &requirements{Requests: q("cpu", "1"), Limits: q("cpu", "3")},
		},
		{
			name: "one container unlimited", reason: "without a limit of each container, the pod gets no limit",
			pod: &requirements{Requests: q("cpu", "1")}, containers: []requirements{{Limits: q("cpu", "1")}, {}},
			want: &requirements{Requests: q("cpu", "1")},
		},
		{
			name: "request above the limits", reason: "a limit is at least the request",
			pod: &requirements{Requests: q("cpu", "5")}, containers: []requirements{{Limits: q("cpu", "1")}},
			want: &requirements{Requests: q("cpu", "5"), Limits: q("cpu", "5")},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			spec := corev1.PodSpec{Resources: tc.pod}
			for _, r := range tc.containers {
				spec.Containers = append(spec.Containers, corev1.Container{Resources: r})
			}
			podLevelResources(&spec)
			if diff := cmp.Diff(tc.want, spec.Resources); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
