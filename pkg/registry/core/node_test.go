package core

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

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
					Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "h"},
						{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}},
					NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1", OSImage: "os"},
				},
			},
			Want: []any{
				"n", "NotReady,SchedulingDisabled", "control-plane,worker", "30d", "v1",
				"192.0.2.1", "<none>", "os", "<unknown>", "<unknown>",
			},
		},
		{
			Name: "kernel", Reason: "the architecture follows the version of the kernel",
			Object: &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "n", CreationTimestamp: registrytest.MonthAgo()},
				Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{
					KubeletVersion: "v1", OSImage: "os", KernelVersion: "6.1.0", Architecture: "arm64", ContainerRuntimeVersion: "containerd://2",
				}},
			},
			Want: []any{"n", "Unknown", "<none>", "30d", "v1", "<none>", "<none>", "os", "6.1.0 (arm64)", "containerd://2"},
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
	policed := func(owner string) *corev1.Node {
		return &corev1.Node{ObjectMeta: registrytest.ClusterStored("n"),
			Spec: corev1.NodeSpec{PodPreemptionPolicy: &corev1.NodePodPreemptionPolicy{DisableResizePreemption: []string{owner}}}}
	}
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
			Name: "changed preemption policy", Reason: "the field's gate is off, and the stored node has the field nevertheless",
			Object: policed("a"), Old: policed("b"),
			Want: []string{"spec.podPreemptionPolicy: Forbidden"},
		},
		{
			Name: "kept preemption policy", Reason: "the node was stored while the gate was on", Object: policed("a"), Old: policed("a"),
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
			Name: "annotated taints", Reason: "an annotation with taints follows the rules of spec.taints",
			Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "1", Annotations: map[string]string{
				corev1.TaintsAnnotationKey: `[{"key":"k","value":"a b","effect":"NoSchedule"}]`}}},
			Old:    &corev1.Node{ObjectMeta: registrytest.ClusterStored("n")},
			Status: true,
			Want: []string{`metadata.annotations.scheduler.alpha.kubernetes.io/taints[0].value: Invalid value: "a b": a valid label must be an empty string ` +
				`or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character ` +
				`(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`},
		},
		{
			Name: "malformed taints", Reason: "the annotation with taints contains JSON",
			Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{corev1.TaintsAnnotationKey: "x"}}},
			Want:   []string{`metadata.annotations: Invalid value: "scheduler.alpha.kubernetes.io/taints": invalid character 'x' looking for beginning of value`},
		},
		{
			Name: "declared features", Reason: "the list of features is sorted, and each feature has a valid name",
			Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{
				DeclaredFeatures: []string{"B", "A", "A", "A/" + strings.Repeat("a", 252), "a"}}},
			Want: []string{
				`status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically`,
				`status.declaredFeatures[2]: Duplicate value: "A"`,
				fmt.Sprintf(`status.declaredFeatures[3]: Invalid value: "A/%[1]s": invalid feature name "A/%[1]s": must be no more than 253 characters`,
					strings.Repeat("a", 252)),
				`status.declaredFeatures[4]: Invalid value: "a": invalid feature name "a": must start with an UpperCamelCase segment, with subsequent segments ` +
					`separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`,
			},
		},
		{
			Name: "declared feature in the status", Reason: "a kubelet declares its features by an update of the status",
			Object: &corev1.Node{ObjectMeta: registrytest.ClusterStored("n"),
				Status: corev1.NodeStatus{DeclaredFeatures: []string{"A", "A"}}},
			Old:    &corev1.Node{ObjectMeta: registrytest.ClusterStored("n")},
			Status: true,
			Want:   []string{`status.declaredFeatures[1]: Duplicate value: "A"`},
		},
		{
			Name: "no swap", Reason: "a kubelet without swap leaves the capacity out",
			Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{
				NodeInfo: corev1.NodeSystemInfo{Swap: &corev1.NodeSwapStatus{Capacity: ptr.To[int64](0)}}}},
			Want: []string{"metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero"},
		},
		{
			Name: "no swap in the status", Reason: "as in kube-apiserver, an update of the status doesn't check the capacity",
			Object: &corev1.Node{ObjectMeta: registrytest.ClusterStored("n"), Status: corev1.NodeStatus{
				NodeInfo: corev1.NodeSystemInfo{Swap: &corev1.NodeSwapStatus{Capacity: ptr.To[int64](0)}}}},
			Old:    &corev1.Node{ObjectMeta: registrytest.ClusterStored("n")},
			Status: true,
		},
		{
			Name: "one pod CIDR twice", Reason: "a node has at most one CIDR of each family",
			Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"},
				Spec: corev1.NodeSpec{PodCIDRs: []string{"10.0.0.0/24", "10.0.0.0/24"}}},
			Want: []string{`spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.0.0/24"]: may specify no more than one CIDR for each IP family`},
		},
		{
			Name: "other pod CIDRs", Reason: "changed CIDRs cause one error",
			Object: &corev1.Node{ObjectMeta: registrytest.ClusterStored("n"),
				Spec: corev1.NodeSpec{PodCIDRs: []string{"10.0.1.0/24", "fd01::/64"}}},
			Old: &corev1.Node{ObjectMeta: registrytest.ClusterStored("n"),
				Spec: corev1.NodeSpec{PodCIDRs: []string{"10.0.0.0/24", "fd00::/64"}}},
			Want: []string{
				`spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid`,
			},
		},
		{
			Name: "other provider ID", Reason: "the cloud provider sets the ID once",
			Object: &corev1.Node{ObjectMeta: registrytest.ClusterStored("n"), Spec: corev1.NodeSpec{ProviderID: "b"}},
			Old:    &corev1.Node{ObjectMeta: registrytest.ClusterStored("n"), Spec: corev1.NodeSpec{ProviderID: "a"}},
			Want:   []string{"spec.providerID: Invalid value: null: field cannot be modified once set"},
		},
		{
			Name: "no provider ID", Reason: "the ID stays",
			Object: &corev1.Node{ObjectMeta: registrytest.ClusterStored("n")},
			Old:    &corev1.Node{ObjectMeta: registrytest.ClusterStored("n"), Spec: corev1.NodeSpec{ProviderID: "a"}},
			Want:   []string{"spec.providerID: Invalid value: null: field cannot be cleared once set"},
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
		{
			Name: "configuration", Reason: "kubelets no longer read their configuration from the API (KEP-281)",
			Object: &corev1.Node{
				Spec:   corev1.NodeSpec{ConfigSource: &corev1.NodeConfigSource{}},
				Status: corev1.NodeStatus{Config: &corev1.NodeConfigStatus{}},
			},
			Want: &corev1.Node{},
		},
	})
}

func TestNodeFieldLabels(t *testing.T) {
	t.Parallel()
	registrytest.CheckFieldLabels(t, registrytest.Table(t, Group), []registrytest.FieldLabelCase{{
		Name: "namespace", Reason: "a node has no namespace",
		Kind: corev1.SchemeGroupVersion.WithKind("Node"), Label: "metadata.namespace",
		Err: "field label not supported: metadata.namespace",
	}})
}
