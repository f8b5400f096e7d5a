package kubelet

import (
	"context"
	"fmt"
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

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
