package kubelet

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/podstatus"
)

// functions returns the functions of templates (see stages.FunctionNames).
func (k *Kubelets) functions() gotpl.FuncMap {
	return gotpl.FuncMap{
		"NodeIP":      func() string { return firstOf(hostIPs(newNode(0))) },
		"NodeName":    func() string { return newNode(0).Name },
		"NodePort":    func() int { return port },
		"NodeIPWith":  func(node string) string { return firstOf(k.hostIPs(node)) },
		"NodeIPsWith": k.hostIPs,
		"PodIP":       func() (string, error) { return "", fmt.Errorf("PodIP: use PodIPWith") },
		"PodIPWith": func(node string, hostNetwork bool, uid, _, _ string) (string, error) {
			ips, err := k.podIPs(node, hostNetwork, types.UID(uid))
			return firstOf(ips), err
		},
		"PodIPsWith": func(node string, hostNetwork bool, uid, _, _ string) ([]string, error) {
			return k.podIPs(node, hostNetwork, types.UID(uid))
		},
		"PodStatus":  k.podStatusPatch,
		"NodeStatus": k.nodeStatusPatch,
	}
}

func firstOf(ips []string) string {
	if len(ips) == 0 {
		return ""
	}
	return ips[0]
}

// hostIPs returns the IP addresses of a node.
func hostIPs(node *corev1.Node) []string {
	var ips []string
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			ips = append(ips, a.Address)
		}
	}
	return ips
}

func (k *Kubelets) hostIPs(name string) []string {
	node, ok := k.node(name)
	if !ok {
		return nil
	}
	return hostIPs(node)
}

// podIPs returns the IP addresses of a pod on a node.
func (k *Kubelets) podIPs(name string, hostNetwork bool, pod types.UID) ([]string, error) {
	node, ok := k.node(name)
	switch {
	case !ok:
		return nil, fmt.Errorf("node %q has no kubelet", name)
	case hostNetwork:
		return hostIPs(node), nil
	case len(node.Spec.PodCIDRs) == 0:
		return k.addresses.give(pod, []string{sharedCIDR})
	}
	return k.addresses.give(pod, node.Spec.PodCIDRs)
}

// addressesOf returns the addresses of a pod and of its node.
func (k *Kubelets) addressesOf(pod *corev1.Pod) (podstatus.Addresses, error) {
	ips, err := k.podIPs(pod.Spec.NodeName, pod.Spec.HostNetwork, pod.UID)
	return podstatus.Addresses{Pod: ips, Host: k.hostIPs(pod.Spec.NodeName)}, err
}

// podStatusPatch implements the function PodStatus of templates.
func (k *Kubelets) podStatusPatch(from any, state string) (string, error) {
	if !slices.Contains(podstatus.States(), podstatus.State(state)) {
		return "", fmt.Errorf("PodStatus: %q must be one of %q", state, podstatus.States())
	}
	pod, err := decode[corev1.Pod](from)
	if err != nil {
		return "", err
	}
	addresses, err := k.addressesOf(pod)
	if err != nil {
		return "", err
	}
	status := podstatus.Of(pod, podstatus.State(state), addresses, time.Now())
	return statusPatch(corev1.Pod{Status: pod.Status}, corev1.Pod{Status: status})
}
