package printers

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Node is shown by its readiness, its roles and, if wide, its system.
var Node = Of(
	[]Column{
		NameColumn,
		Text("Status", "The status of the node"),
		Text("Roles", "The roles of the node"),
		AgeColumn,
		Text("Version", Doc(corev1.NodeSystemInfo{}, "kubeletVersion")),
		Wide(Text("Internal-IP", Doc(corev1.NodeStatus{}, "addresses"))),
		Wide(Text("External-IP", Doc(corev1.NodeStatus{}, "addresses"))),
		Wide(Text("OS-Image", Doc(corev1.NodeSystemInfo{}, "osImage"))),
		Wide(Text("Kernel-Version", Doc(corev1.NodeSystemInfo{}, "kernelVersion"))),
		Wide(Text("Container-Runtime", Doc(corev1.NodeSystemInfo{}, "containerRuntimeVersion"))),
	},
	func(n *corev1.Node) []any {
		info := n.Status.NodeInfo
		return []any{
			n.Name, nodeStatus(n), cmp.Or(strings.Join(nodeRoles(n), ","), None),
			Since(n.CreationTimestamp), info.KubeletVersion,
			nodeAddress(n, corev1.NodeInternalIP), nodeAddress(n, corev1.NodeExternalIP),
			cmp.Or(info.OSImage, Unknown), cmp.Or(info.KernelVersion, Unknown), cmp.Or(info.ContainerRuntimeVersion, Unknown),
		}
	})

func nodeStatus(n *corev1.Node) string {
	status := "Unknown"
	for _, condition := range n.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		status = "NotReady"
		if condition.Status == corev1.ConditionTrue {
			status = "Ready"
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

// nodeRoles are the roles that a node's labels give it: node-role.kubernetes.io/ROLE
// with any value, or kubernetes.io/role with the role as the value.
func nodeRoles(n *corev1.Node) []string {
	var roles []string
	for key, value := range n.Labels {
		role, ok := strings.CutPrefix(key, "node-role.kubernetes.io/")
		if key == "kubernetes.io/role" {
			role, ok = value, true
		}
		if ok && role != "" {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

// nodeAddress is the node's first address of a type.
func nodeAddress(n *corev1.Node, t corev1.NodeAddressType) string {
	for _, address := range n.Status.Addresses {
		if address.Type == t {
			return address.Address
		}
	}
	return None
}
