// Package boundpods is for plugins that check changes of a pod against the node that the pod runs on.
//
// The package ignores pods without a node. A plugin for these pods reads the request itself, with the package podspec.
package boundpods

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes"
)

// Change returns the new and the old pod if the request changes the spec of a pod that is bound to a node.
// Otherwise both are nil.
func Change(a admission.Attributes) (pod, old *corev1.Pod, err error) {
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("expected a pod but got a %T", a.GetObject()))
	}
	if pod.Spec.NodeName == "" {
		return nil, nil, nil
	}
	old, ok = a.GetOldObject().(*corev1.Pod)
	if !ok {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("expected an old pod but got a %T", a.GetOldObject()))
	}
	if pod.Generation == old.Generation { // each change of the spec increments the generation
		return nil, nil, nil
	}
	return pod, old, nil
}

// Node returns the node of a pod. If the node can't be read, the error is the response to the request.
func Node(ctx context.Context, client kubernetes.Interface, a admission.Attributes, name string) (*corev1.Node, error) {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, admission.NewForbidden(a, fmt.Errorf("node %q not found", name))
	case err != nil:
		return nil, admission.NewForbidden(a, fmt.Errorf("failed to get node %q: %w", name, err))
	}
	return node, nil
}
