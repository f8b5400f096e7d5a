package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/podstatus"
)

// MaxNodes is the largest number of nodes. The kubelets of more nodes would lack addresses for pods.
const MaxNodes = 3072

// These are the defaults of a kubelet.
const (
	leaseDuration = 40 * time.Second
	renewPeriod   = 10 * time.Second
	port          = 10250
)

// zones are the zones of the nodes, in turn.
var zones = []string{"zone-a", "zone-b", "zone-c"}

// capacity is what each node has. The number of pods is a kubelet's default.
var capacity = corev1.ResourceList{
	corev1.ResourceCPU:              resource.MustParse("32"),
	corev1.ResourceMemory:           resource.MustParse("256Gi"),
	corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
	corev1.ResourcePods:             resource.MustParse("110"),
}

// newNode returns the node with a number. Its address belongs to no machine: RFC 2544 reserves the range.
func newNode(i int) *corev1.Node {
	name := fmt.Sprintf("node-%d", i)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{Managed: managedValue},
			Labels: map[string]string{
				"beta.kubernetes.io/arch":      runtime.GOARCH,
				"beta.kubernetes.io/os":        string(corev1.Linux),
				corev1.LabelArchStable:         runtime.GOARCH,
				corev1.LabelOSStable:           string(corev1.Linux),
				corev1.LabelHostname:           name,
				corev1.LabelInstanceTypeStable: podstatus.Runtime,
				corev1.LabelTopologyRegion:     "region",
				corev1.LabelTopologyZone:       zones[i%len(zones)],
			},
		},
		Spec: corev1.NodeSpec{
			PodCIDR:    podCIDR(i),
			PodCIDRs:   []string{podCIDR(i)},
			ProviderID: podstatus.Runtime + "://" + name,
		},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("198.18.%d.%d", (i+1)>>8, (i+1)&255)},
			{Type: corev1.NodeHostName, Address: name},
		}},
	}
}

// sharedCIDR is the range of the pods of all nodes that users have created without a range.
const sharedCIDR = "10.128.0.0/10"

// podCIDR returns the range of the pod addresses of the node with a number.
func podCIDR(i int) string { return fmt.Sprintf("10.%d.%d.0/24", 244+i>>8, i&255) }

// declaredFeatures are the features that a kubelet of Kubernetes 1.37 declares with the default gates, in the order of their
// names.
var declaredFeatures = []string{
	"ExtendWebSocketsToKubelet", "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers",
	"RestartAllContainersOnContainerExits",
}

// syncNode registers a node if it has to, plays the stages of the node, and renews its Lease.
func (k *Kubelets) syncNode(ctx context.Context, name string) (time.Duration, error) {
	if err := k.create(ctx, name); err != nil {
		return 0, err
	}
	again, err := k.nodePlayer.advance(ctx, name)
	if err != nil {
		return 0, err
	}
	node, ok := k.node(name)
	if !ok || k.isLost(node) {
		return again, nil
	}
	if err := k.renew(ctx, node); err != nil {
		return 0, fmt.Errorf("the Lease of node %s: %w", name, err)
	}
	if again == 0 {
		return renewPeriod, nil
	}
	return min(again, renewPeriod), nil
}

// create creates a node that has to be registered.
func (k *Kubelets) create(ctx context.Context, name string) error {
	k.mu.Lock()
	node := k.unknown[name]
	k.mu.Unlock()
	if node == nil {
		return nil
	}
	node.Status = k.nodeStatus(node, corev1.ConditionTrue)
	err := k.as(name, k.core.Post().Resource("nodes").Body(node)).Do(ctx).Error()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.unknown, name)
	return nil
}

// renew renews the Lease by which other programs know that the node has a kubelet. If another program has just written the
// Lease, the next renewal has its state.
func (k *Kubelets) renew(ctx context.Context, node *corev1.Node) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: corev1.NamespaceNodeLease, Name: node.Name,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
	}}
	request := k.leases.Post()
	if found, _, err := k.leaseInformer.GetStore().Get(lease); err != nil {
		return err
	} else if known, ok := found.(*coordinationv1.Lease); ok {
		lease, request = known.DeepCopy(), k.leases.Put().Name(node.Name)
	}
	lease.Spec.HolderIdentity = &node.Name
	lease.Spec.LeaseDurationSeconds = new(int32(leaseDuration.Seconds()))
	lease.Spec.RenewTime = new(metav1.NowMicro())
	err := k.as(node.Name, request.Namespace(lease.Namespace).Resource("leases").Body(lease)).Do(ctx).Error()
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return work.IgnoreStale(err)
}

// conditions are the conditions of a node whose kubelet works.
var conditions = []corev1.NodeCondition{
	{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"},
	{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"},
	{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "kubelet has sufficient PID available"},
	{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"},
}

// nodeStatus returns the status of a node whose condition Ready has a status. What a user has set stays, such as the
// capacity.
func (k *Kubelets) nodeStatus(node *corev1.Node, ready corev1.ConditionStatus) corev1.NodeStatus {
	status := *node.Status.DeepCopy()
	if len(status.Capacity) == 0 {
		status.Capacity = capacity.DeepCopy()
	}
	if len(status.Allocatable) == 0 {
		status.Allocatable = status.Capacity.DeepCopy()
	}
	if len(status.Addresses) == 0 {
		status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: node.Name}}
	}
	status.DaemonEndpoints.KubeletEndpoint.Port = port
	status.Features = &corev1.NodeFeatures{SupplementalGroupsPolicy: new(true)}
	status.DeclaredFeatures = declaredFeatures
	if status.NodeInfo.KubeletVersion == "" {
		status.NodeInfo = corev1.NodeSystemInfo{
			Architecture:            runtime.GOARCH,
			OperatingSystem:         string(corev1.Linux),
			OSImage:                 podstatus.Runtime,
			KernelVersion:           podstatus.Runtime,
			ContainerRuntimeVersion: podstatus.Runtime + "://" + strings.TrimPrefix(k.Version, "v"),
			KubeletVersion:          k.Version,
			MachineID:               node.Name,
			SystemUUID:              node.Name,
			BootID:                  node.Name,
		}
	}
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	for _, c := range conditions {
		if ready != corev1.ConditionTrue {
			c.Reason, c.Message = "NodeStatusUnknown", "Kubelet stopped posting node status."
			c.Status = ready
		}
		c.LastHeartbeatTime, c.LastTransitionTime = now, now
		i := slices.IndexFunc(status.Conditions, func(old corev1.NodeCondition) bool { return old.Type == c.Type })
		if i < 0 {
			status.Conditions = append(status.Conditions, c)
			continue
		}
		if status.Conditions[i].Status == c.Status {
			c.LastTransitionTime = status.Conditions[i].LastTransitionTime
		}
		status.Conditions[i] = c
	}
	return status
}

// nodeStatusPatch implements the function NodeStatus of templates.
func (k *Kubelets) nodeStatusPatch(from any, ready string) (string, error) {
	node, err := decode[corev1.Node](from)
	if err != nil {
		return "", err
	}
	if !slices.Contains([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}, corev1.ConditionStatus(ready)) {
		return "", fmt.Errorf("NodeStatus: %q must be True, False or Unknown", ready)
	}
	return statusPatch(corev1.Node{Status: node.Status}, corev1.Node{Status: k.nodeStatus(node, corev1.ConditionStatus(ready))})
}

// decode returns an object that a function of templates gets, which a template gives as JSON.
func decode[T any](from any) (*T, error) {
	if object, ok := from.(*T); ok {
		return object, nil
	}
	text, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	into := new(T)
	return into, json.Unmarshal(text, into)
}

// statusPatch returns the strategic merge patch between the statuses of two objects of one type.
func statusPatch[T any](before, after T) (string, error) {
	was, err := json.Marshal(before)
	if err != nil {
		return "", err
	}
	is, err := json.Marshal(after)
	if err != nil {
		return "", err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(was, is, before)
	if err != nil {
		return "", err
	}
	var status struct{ Status json.RawMessage }
	if err := json.Unmarshal(patch, &status); err != nil {
		return "", err
	}
	if len(status.Status) == 0 {
		return "{}", nil
	}
	return string(status.Status), nil
}
