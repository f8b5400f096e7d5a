package connect

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"
)

// GetPod returns a stored pod.
func GetPod(ctx context.Context, pods rest.Getter, name string) (*corev1.Pod, error) {
	found, err := pods.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pod, ok := found.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("unexpected object type: %T", found)
	}
	return pod, nil
}

// PodIPs returns the addresses of a pod. The primary address comes first.
func PodIPs(pod *corev1.Pod) []string {
	var ips []string
	for _, ip := range pod.Status.PodIPs {
		ips = append(ips, ip.IP)
	}
	if len(ips) == 0 && pod.Status.PodIP != "" {
		ips = append(ips, pod.Status.PodIP)
	}
	return ips
}
