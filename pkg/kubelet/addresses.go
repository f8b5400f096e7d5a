package kubelet

import (
	"fmt"
	"net/netip"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// addresses has the addresses of the pods.
type addresses struct {
	mu   sync.Mutex
	of   map[types.UID][]string
	used map[string]types.UID
	last map[string]netip.Addr // the last address of each range, so that addresses aren't used again at once
}

func newAddresses() addresses {
	return addresses{of: map[types.UID][]string{}, used: map[string]types.UID{}, last: map[string]netip.Addr{}}
}

func (a *addresses) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.of)
	clear(a.used)
}

// keep keeps the addresses that a pod has in its status. A pod that has ended needs them no more, though its status still
// has them.
func (a *addresses) keep(pod *corev1.Pod) {
	switch {
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		a.release(pod.UID)
		return
	case pod.Spec.HostNetwork || pod.Status.PodIP == "":
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var ips []string
	for _, ip := range pod.Status.PodIPs {
		ips = append(ips, ip.IP)
		a.used[ip.IP] = pod.UID
	}
	a.of[pod.UID] = ips
}

// release frees the addresses of a pod.
func (a *addresses) release(pod types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, ip := range a.of[pod] {
		if a.used[ip] == pod {
			delete(a.used, ip)
		}
	}
	delete(a.of, pod)
}

// give returns the addresses of a pod, one of each range.
func (a *addresses) give(pod types.UID, ranges []string) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ips, ok := a.of[pod]; ok {
		return ips, nil
	}
	var ips []string
	for _, cidr := range ranges {
		ip, err := a.free(cidr)
		if err != nil {
			return nil, err
		}
		a.used[ip] = pod
		ips = append(ips, ip)
	}
	a.of[pod] = ips
	return ips, nil
}

// free returns a free address of a range. The first two addresses are those of the network and of the node's bridge,
// the last one is for broadcasts.
func (a *addresses) free(cidr string) (string, error) {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return "", err
	}
	first := prefix.Masked().Addr().Next().Next()
	ip := a.last[cidr]
	for range 1 << min(first.BitLen()-prefix.Bits(), 16) {
		if ip = ip.Next(); !ip.IsValid() || !prefix.Contains(ip.Next()) {
			ip = first
		}
		if _, used := a.used[ip.String()]; !used {
			a.last[cidr] = ip
			return ip.String(), nil
		}
	}
	return "", fmt.Errorf("the range %s has no free address for a pod", cidr)
}
