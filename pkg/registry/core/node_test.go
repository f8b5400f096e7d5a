package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestNodeColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "unschedulable", Reason: "each role of both labels is shown once, and the status comes from the condition Ready",
			Object: &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "n", CreationTimestamp: registrytest.MonthAgo(), Labels: map[string]string{
					"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": "x", "kubernetes.io/role": "worker",
				}},
				Spec: corev1.NodeSpec{Unschedulable: true},
				Status: corev1.NodeStatus{
					Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}},
					Addresses:  []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "h"}, {Type: corev1.NodeInternalIP, Address: "192.0.2.1"}},
					NodeInfo:   corev1.NodeSystemInfo{KubeletVersion: "v1", OSImage: "os"},
				},
			},
			Want: []any{
				"n", "NotReady,SchedulingDisabled", "control-plane,worker", "30d", "v1",
				"192.0.2.1", "<none>", "os", "<unknown>", "<unknown>",
			},
		},
	})
}

func TestNodeWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "old fields", Reason: "a pod CIDR has no bits set after the prefix",
			Object: &corev1.Node{Spec: corev1.NodeSpec{PodCIDRs: []string{"10.0.0.8/24"}, DoNotUseExternalID: "x"}},
			Want: []string{
				"spec.externalID: this field is deprecated, and is unused by Kubernetes",
				`spec.podCIDRs[0]: CIDR value "10.0.0.8/24" is ambiguous in this context (should be "10.0.0.0/24" or "10.0.0.8/32"?)`,
			},
		},
	})
}

func TestNodeErrors(t *testing.T) {
	t.Parallel()
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "avoided pods", Reason: "the annotation names the controllers of pods",
			Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{
				corev1.PreferAvoidPodsAnnotationKey: `{"preferAvoidPods":[{},{"podSignature":{"podController":{"kind":"Pod","controller":false}}}]}`}}},
			Want: []string{
				"metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods[0].PodSignature: Required value",
				"metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods[1].PodSignature.PodController.Controller: Invalid value: false: must point to a controller",
			},
		},
		{
			Name: "malformed annotation", Reason: "the annotation contains JSON",
			Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "1", Annotations: map[string]string{
				corev1.PreferAvoidPodsAnnotationKey: "x"}}},
			Old:    &corev1.Node{ObjectMeta: registrytest.ClusterStored("n")},
			Status: true,
			Want:   []string{`metadata.annotations.AvoidPods: Invalid value: "scheduler.alpha.kubernetes.io/preferAvoidPods": invalid character 'x' looking for beginning of value`},
		},
		{
			Name: "preemption policy", Reason: "the feature gate of the field is off",
			Object: &corev1.Node{ObjectMeta: registrytest.ClusterStored("n"), Spec: corev1.NodeSpec{PodPreemptionPolicy: &corev1.NodePodPreemptionPolicy{}}},
			Want:   []string{"spec.podPreemptionPolicy: Forbidden"},
		},
		{
			Name: "stored preemption policy", Reason: "the node was stored while the feature gate was on, and an update can keep the field",
			Object: &corev1.Node{ObjectMeta: registrytest.ClusterStored("n"), Spec: corev1.NodeSpec{PodPreemptionPolicy: &corev1.NodePodPreemptionPolicy{}}},
			Old:    &corev1.Node{ObjectMeta: registrytest.ClusterStored("n"), Spec: corev1.NodeSpec{PodPreemptionPolicy: &corev1.NodePodPreemptionPolicy{}}},
		},
	})
}

func TestNodeCreation(t *testing.T) {
	t.Parallel()
	registrytest.CheckPrepared(t, registrytest.Table(t, Group), []registrytest.PrepareCase{
		{
			Name: "status", Reason: "a kubelet creates its node with a status",
			Object: &corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Address: "a"}}}},
			Want:   &corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Address: "a"}}}},
		},
	})
}

func TestNodeFieldLabels(t *testing.T) {
	t.Parallel()
	registrytest.CheckFieldLabels(t, registrytest.Table(t, Group), []registrytest.FieldLabelCase{{
		Name: "namespace", Reason: "a node has no namespace",
		Kind: corev1.SchemeGroupVersion.WithKind("Node"), Label: "metadata.namespace", Err: "field label not supported: metadata.namespace",
	}})
}
