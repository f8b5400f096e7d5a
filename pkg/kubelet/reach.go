package kubelet

import (
	"context"
	"fmt"
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	netutils "k8s.io/utils/net"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/endpoint"
)

// changes is the number of the changes of pods that the kubelets have seen.
type changes uint64

// String implements fmt.Stringer, for errors.
func (c changes) String() string { return fmt.Sprintf("%d changes of pods", uint64(c)) }

// reachable has what the endpoint needs from the kubelets. It implements endpoint.Pods.
type reachable struct{ *Kubelets }

var _ endpoint.Pods = reachable{}

// Pod implements endpoint.Pods.
func (r reachable) Pod(namespace, name string) (*corev1.Pod, bool) {
	obj, exists, err := r.podInformer.GetStore().GetByKey(namespace + "/" + name)
	pod, ok := obj.(*corev1.Pod)
	return pod, err == nil && exists && ok
}

// Fresh implements endpoint.Pods.
func (r reachable) Fresh(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	return pod, r.core.Get().Namespace(namespace).Resource("pods").Name(name).Do(ctx).Into(pod)
}

// Process implements endpoint.Pods.
func (r reachable) Process(pod types.UID, container string) (endpoint.Process, bool) {
	return r.Runtime.Process(pod, container)
}

// Dial implements endpoint.Pods.
func (r reachable) Dial(ctx context.Context, pod types.UID, port int32) (net.Conn, bool, error) {
	return r.Runtime.Dial(ctx, pod, port)
}

// Wait implements endpoint.Pods.
func (r reachable) Wait(ctx context.Context, predicate func() bool) error {
	return r.changes.Wait(ctx, func(changes) bool { return predicate() })
}

// route returns the address of this machine for the address of a port of a pod (see controllers.Component). A connection to
// the address of a pod that pretends would end in a timeout, or in another network.
func (k *Kubelets) route(address string) (string, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return address, nil
	}
	if local, ok := k.Runtime.Route(host); ok {
		return net.JoinHostPort(local, text), nil
	}
	port, err := netutils.ParsePort(text, false)
	if err != nil {
		return address, nil
	}
	if pod, ok := k.podAt(host, int32(port)); ok {
		return k.endpoint.Address(pod, int32(port))
	}
	return address, nil
}

// podAt returns the managed pod that listens at an address. Of pods that have the address of their node, it is the one
// that declares the port.
func (k *Kubelets) podAt(address string, port int32) (*corev1.Pod, bool) {
	declares := func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == port })
	}
	for _, obj := range k.podInformer.GetStore().List() {
		pod, ok := obj.(*corev1.Pod)
		if !ok || owned.HasEnded(pod) || !slices.Contains(pod.Status.PodIPs, corev1.PodIP{IP: address}) {
			continue
		}
		if _, managed := k.hasPod(pod); managed && (!pod.Spec.HostNetwork || slices.ContainsFunc(pod.Spec.Containers, declares)) {
			return pod, true
		}
	}
	return nil, false
}

// nodeAt returns the name of the managed node with an address.
func (k *Kubelets) nodeAt(address string) (string, bool) {
	for _, name := range k.nodes.GetStore().ListKeys() {
		node, ok := k.node(name)
		if ok && slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Address == address }) {
			return name, true
		}
	}
	return "", false
}

// dial connects to the kubelet of the node with an address (see controllers.Component).
func (k *Kubelets) dial(ctx context.Context, address string) (net.Conn, bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, false, nil
	}
	if _, ok := k.nodeAt(host); !ok {
		return nil, false, nil
	}
	conn, err := k.endpoint.Dial(ctx)
	return conn, true, err
}
