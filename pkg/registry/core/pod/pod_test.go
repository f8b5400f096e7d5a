package pod_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/core"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestPodCreation(t *testing.T) {
	t.Parallel()
	registrytest.CheckPrepared(t, registrytest.Table(t, core.Group), []registrytest.PrepareCase{
		{
			Name:   "scheduling gates",
			Reason: "the server ignores the status of the request and adds the condition of the gates (KEP-3521)",
			Object: &corev1.Pod{
				Spec:   corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "g"}}},
				Status: corev1.PodStatus{Phase: corev1.PodRunning},
			},
			Want: &corev1.Pod{
				ObjectMeta: registrytest.Generation(1),
				Spec:       corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "g"}}},
				Status: corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBestEffort, Conditions: []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "SchedulingGated",
					Message: "Scheduling is blocked due to non-empty scheduling gates",
				}}},
			},
		},
		{
			Name:   "pod-level resources",
			Reason: "the requests of the whole pod get their defaults, and then determine the class (KEP-2837)",
			Object: &corev1.Pod{Spec: corev1.PodSpec{Resources: &corev1.ResourceRequirements{Limits: registrytest.Quantities("cpu", "1", "memory", "1Gi")}}},
			Want: &corev1.Pod{
				ObjectMeta: registrytest.Generation(1),
				Spec: corev1.PodSpec{Resources: &corev1.ResourceRequirements{
					Limits:   registrytest.Quantities("cpu", "1", "memory", "1Gi"),
					Requests: registrytest.Quantities("cpu", "1", "memory", "1Gi"),
				}},
				Status: corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSGuaranteed},
			},
		},
		{
			Name: "pod-level resources left out", Reason: "an old client's update keeps the resources of the whole pod",
			Object: &corev1.Pod{},
			Old: &corev1.Pod{
				ObjectMeta: registrytest.Generation(1),
				Spec:       corev1.PodSpec{Resources: &corev1.ResourceRequirements{Limits: registrytest.Quantities("cpu", "1")}},
			},
			Want: &corev1.Pod{
				ObjectMeta: registrytest.Generation(1),
				Spec:       corev1.PodSpec{Resources: &corev1.ResourceRequirements{Limits: registrytest.Quantities("cpu", "1")}},
			},
		},
		{
			Name: "label keys", Reason: "each term gets the values of the pod's labels, and a term without a selector stays unchanged",
			Object: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "1"}},
				Spec: corev1.PodSpec{
					Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
						{LabelSelector: &metav1.LabelSelector{}, MismatchLabelKeys: []string{"a", "missing"}},
						{MatchLabelKeys: []string{"a"}},
					}}},
					TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{LabelSelector: &metav1.LabelSelector{}, MatchLabelKeys: []string{"a"}}},
				},
			},
			Want: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Generation: 1, Labels: map[string]string{"a": "1"}},
				Spec: corev1.PodSpec{
					Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
						{
							LabelSelector:     &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "NotIn", Values: []string{"1"}}}},
							MismatchLabelKeys: []string{"a", "missing"},
						},
						{MatchLabelKeys: []string{"a"}},
					}}},
					TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
						LabelSelector:  &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "In", Values: []string{"1"}}}},
						MatchLabelKeys: []string{"a"},
					}},
				},
				Status: corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBestEffort},
			},
		},
		{
			Name:   "AppArmor annotations",
			Reason: "an annotation sets the container's field (KEP-24), unless the pod already has the profile",
			Object: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
					"container.apparmor.security.beta.kubernetes.io/a": "localhost/x",
					"container.apparmor.security.beta.kubernetes.io/b": "unconfined",
				}},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{AppArmorProfile: &corev1.AppArmorProfile{Type: "Unconfined"}},
					Containers:      []corev1.Container{{Name: "a"}, {Name: "b"}},
				},
			},
			Want: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Generation: 1, Annotations: map[string]string{
					"container.apparmor.security.beta.kubernetes.io/a": "localhost/x",
					"container.apparmor.security.beta.kubernetes.io/b": "unconfined",
				}},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{AppArmorProfile: &corev1.AppArmorProfile{Type: "Unconfined"}},
					Containers: []corev1.Container{
						{Name: "a",
							SecurityContext: &corev1.SecurityContext{AppArmorProfile: &corev1.AppArmorProfile{Type: "Localhost", LocalhostProfile: ptr.To("x")}}},
						{Name: "b"},
					},
				},
				Status: corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBestEffort},
			},
		},
	})
}

func TestPodStatusUpdate(t *testing.T) {
	t.Parallel()
	registrytest.CheckPrepared(t, registrytest.Table(t, core.Group), []registrytest.PrepareCase{
		{
			Name:   "old kubelet",
			Reason: "a kubelet may omit the QoS class and parts of owner references, and the status endpoint keeps the spec",
			Object: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Name: "spoilt"}}},
				Spec:       corev1.PodSpec{NodeName: "other"},
				Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: "A"}, {Type: "A"}}},
			},
			Status: true, Old: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Generation: 2, OwnerReferences: []metav1.OwnerReference{{Name: "o", APIVersion: "v1"}}},
				Spec:       corev1.PodSpec{NodeName: "n"},
				Status: corev1.PodStatus{
					QOSClass: corev1.PodQOSBurstable, ObservedGeneration: 2,
					Conditions: []corev1.PodCondition{{Type: "A", ObservedGeneration: 1}, {Type: "A", ObservedGeneration: 2}},
				},
			},
			Want: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Generation: 2, OwnerReferences: []metav1.OwnerReference{{Name: "o", APIVersion: "v1"}}},
				Spec:       corev1.PodSpec{NodeName: "n"},
				Status: corev1.PodStatus{
					Phase: corev1.PodRunning, QOSClass: corev1.PodQOSBurstable, ObservedGeneration: 2,
					Conditions: []corev1.PodCondition{{Type: "A", ObservedGeneration: 1}, {Type: "A", ObservedGeneration: 2}},
				},
			},
		},
		{
			Name: "claims left out", Reason: "a client that doesn't know the fields of resource claims keeps them",
			Object: &corev1.Pod{}, Status: true,
			Old: &corev1.Pod{Status: corev1.PodStatus{
				ResourceClaimStatuses:       []corev1.PodResourceClaimStatus{{Name: "c"}},
				ExtendedResourceClaimStatus: &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "e"},
			}},
			Want: &corev1.Pod{Status: corev1.PodStatus{
				ResourceClaimStatuses:       []corev1.PodResourceClaimStatus{{Name: "c"}},
				ExtendedResourceClaimStatus: &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "e"},
			}},
		},
		{
			Name: "claims cleared", Reason: "an empty list clears the list",
			Object: &corev1.Pod{Status: corev1.PodStatus{ResourceClaimStatuses: []corev1.PodResourceClaimStatus{}}}, Status: true,
			Old:  &corev1.Pod{Status: corev1.PodStatus{ResourceClaimStatuses: []corev1.PodResourceClaimStatus{{Name: "c"}}}},
			Want: &corev1.Pod{Status: corev1.PodStatus{ResourceClaimStatuses: []corev1.PodResourceClaimStatus{}}},
		},
	})
}

func TestPodFieldLabels(t *testing.T) {
	t.Parallel()
	kind := corev1.SchemeGroupVersion.WithKind("Pod")
	registrytest.CheckFieldLabels(t, registrytest.Table(t, core.Group), []registrytest.FieldLabelCase{
		{
			Name: "node", Reason: "kubelets watch the pods of their node",
			Kind: kind, Label: "spec.nodeName", Want: "spec.nodeName",
		},
		{
			Name: "alias", Reason: "clients of versions before v1 use this name",
			Kind: kind, Label: "spec.host", Want: "spec.nodeName",
		},
		{
			Name: "namespace", Reason: "objects of all namespaced kinds can be selected by their namespace",
			Kind: kind, Label: "metadata.namespace", Want: "metadata.namespace",
		},
	})
}

func TestPodAttributes(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns", Labels: map[string]string{"a": "b"}},
		Spec:       corev1.PodSpec{NodeName: "n", HostNetwork: true},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: "10.1.1.1"}, {IP: "fd00::1"}}},
	}
	labels, set, err := registrytest.Row(t, registrytest.Table(t, core.Group), pod).Attributes(pod)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "b"}, map[string]string(labels)); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	want := fields.Set{
		"metadata.name": "p", "metadata.namespace": "ns",
		"spec.nodeName": "n", "spec.restartPolicy": "", "spec.schedulerName": "", "spec.serviceAccountName": "",
		"spec.hostNetwork": "true",
		"status.phase":     "Running", "status.podIP": "10.1.1.1", "status.nominatedNodeName": "",
	}
	if diff := cmp.Diff(want, set); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestGracefulPodDelete(t *testing.T) {
	t.Parallel()
	table := registrytest.Table(t, core.Group)
	running := corev1.Pod{Spec: corev1.PodSpec{NodeName: "n", TerminationGracePeriodSeconds: ptr.To[int64](30)}}
	unscheduled, finished := *running.DeepCopy(), *running.DeepCopy()
	unscheduled.Spec.NodeName = ""
	finished.Status.Phase = corev1.PodSucceeded
	for _, test := range []struct {
		name, reason string
		pod          corev1.Pod
		asked        *int64
		want         int64
	}{
		{name: "period of the pod", reason: "the pod sets the default of the period", pod: running, want: 30},
		{name: "period of the request", reason: "the options of the request take precedence", pod: running,
			asked: ptr.To[int64](5), want: 5},
		{name: "zero", reason: "zero is a valid period, and isn't replaced by a default", pod: running, asked: ptr.To[int64](0), want: 0},
		{name: "negative", reason: "an older server could store a negative period, which stands for 1 second",
			pod: running, asked: ptr.To[int64](-1), want: 1},
		{name: "unscheduled", reason: "no kubelet has to stop a pod without a node", pod: unscheduled, asked: ptr.To[int64](5), want: 0},
		{name: "finished", reason: "no kubelet has to stop the containers of a finished pod", pod: finished, want: 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			options := &metav1.DeleteOptions{GracePeriodSeconds: test.asked}
			s := registrytest.Strategy(t, table, &test.pod)
			if !s.CheckGracefulDelete(context.Background(), &test.pod, options) || *options.GracePeriodSeconds != test.want {
				t.Errorf("%d seconds, want %d: %s", *options.GracePeriodSeconds, test.want, test.reason)
			}
		})
	}
}
