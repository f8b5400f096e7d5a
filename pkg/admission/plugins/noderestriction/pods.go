package noderestriction

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
)

// pod lets a kubelet create its mirror pods, delete and evict the pods on its node, and write their status.
func (p *Plugin) pod(ctx context.Context, node string, a admission.Attributes) error {
	switch a.GetSubresource() {
	case "":
		switch a.GetOperation() {
		case admission.Create:
			return p.createPod(ctx, node, a)
		case admission.Delete:
			return p.deletePod(ctx, node, a)
		}
		return fmt.Errorf("unexpected operation %q, node %q can only create and delete mirror pods", a.GetOperation(), node)
	case "status":
		return podStatus(node, a)
	case "eviction":
		return p.evictPod(ctx, node, a)
	}
	return fmt.Errorf("unexpected pod subresource %q, only 'status' and 'eviction' are allowed", a.GetSubresource())
}

// createPod lets a kubelet create the mirror pods of its static pods. Such a pod must not refer to other objects: a
// kubelet may read all objects to which its pods refer, and could so gain access.
func (p *Plugin) createPod(ctx context.Context, node string, a admission.Attributes) error {
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok {
		return fmt.Errorf("unexpected type %T", a.GetObject())
	}
	if _, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; !isMirror {
		return fmt.Errorf("pod does not have %q annotation, node %q can only create mirror pods", corev1.MirrorPodAnnotationKey, node)
	}
	if pod.Spec.NodeName != node {
		return fmt.Errorf("node %q can only create pods with spec.nodeName set to itself", node)
	}
	if err := p.podOwner(ctx, node, pod); err != nil {
		return err
	}
	if referenced := references(&pod.Spec); referenced != "" {
		return fmt.Errorf("node %q can not create pods that reference %s", node, referenced)
	}
	return nil
}

// podOwner checks that a mirror pod has its node as the only owner, so that the pod is deleted with the node.
func (p *Plugin) podOwner(ctx context.Context, node string, pod *corev1.Pod) error {
	if len(pod.OwnerReferences) > 1 {
		return fmt.Errorf("node %q can only create pods with a single owner reference set to itself", node)
	}
	if len(pod.OwnerReferences) == 0 {
		return fmt.Errorf("node %q can only create pods with an owner reference set to itself", node)
	}
	owner := pod.OwnerReferences[0]
	switch {
	case owner.APIVersion != "v1" || owner.Kind != "Node" || owner.Name != node:
		return fmt.Errorf("node %q can only create pods with an owner reference set to itself", node)
	case owner.Controller == nil || !*owner.Controller:
		return fmt.Errorf("node %q can only create pods with a controller owner reference set to itself", node)
	case owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion:
		return fmt.Errorf("node %q must not set blockOwnerDeletion on an owner reference", node)
	}
	object, err := p.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return missingError{err}
	}
	if err != nil {
		return fmt.Errorf("error looking up node %s to verify uid: %w", node, err)
	}
	if owner.UID != object.UID {
		return fmt.Errorf("node %s UID mismatch: expected %s got %s", node, owner.UID, object.UID)
	}
	return nil
}

func (p *Plugin) deletePod(ctx context.Context, node string, a admission.Attributes) error {
	pod, ok := a.GetOldObject().(*corev1.Pod)
	if !ok {
		var err error
		if pod, err = p.storedPod(ctx, a.GetNamespace(), a.GetName()); err != nil {
			return err
		}
	}
	if pod.Spec.NodeName != node {
		return fmt.Errorf("node %q can only delete pods with spec.nodeName set to itself", node)
	}
	return nil
}

func (p *Plugin) evictPod(ctx context.Context, node string, a admission.Attributes) error {
	if a.GetOperation() != admission.Create {
		return fmt.Errorf("unexpected operation %s", a.GetOperation())
	}
	eviction, ok := a.GetObject().(*policyv1.Eviction)
	if !ok {
		return fmt.Errorf("unexpected type %T", a.GetObject())
	}
	podName := a.GetName()
	if podName == "" {
		podName = eviction.Name
	}
	if podName == "" {
		return errors.New("could not determine pod from request data")
	}
	pod, err := p.storedPod(ctx, a.GetNamespace(), podName)
	if err != nil {
		return err
	}
	if pod.Spec.NodeName != node {
		return fmt.Errorf("node %s can only evict pods with spec.nodeName set to itself", node)
	}
	return nil
}

func podStatus(node string, a admission.Attributes) error {
	if a.GetOperation() != admission.Update {
		return fmt.Errorf("unexpected operation %q", a.GetOperation())
	}
	old, ok := a.GetOldObject().(*corev1.Pod)
	if !ok {
		return fmt.Errorf("unexpected type %T", a.GetOldObject())
	}
	if old.Spec.NodeName != node {
		return fmt.Errorf("node %q can only update pod status for pods with spec.nodeName set to itself", node)
	}
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok {
		return fmt.Errorf("unexpected type %T", a.GetObject())
	}
	if !labels.Equals(old.Labels, pod.Labels) {
		return fmt.Errorf("node %q cannot update labels through pod status", node)
	}
	if !equality.Semantic.DeepEqual(old.Status.ResourceClaimStatuses, pod.Status.ResourceClaimStatuses) {
		return fmt.Errorf("node %q cannot update resource claim statues", node)
	}
	// A kubelet may read the resource claims that its pods name in their status. So it must not add names here.
	if !equality.Semantic.DeepEqual(old.Status.NodeAllocatableResourceClaimStatuses, pod.Status.NodeAllocatableResourceClaimStatuses) {
		return fmt.Errorf("node %q cannot update node allocatable resource claim statuses", node)
	}
	if !equality.Semantic.DeepEqual(old.Status.ExtendedResourceClaimStatus, pod.Status.ExtendedResourceClaimStatus) {
		return fmt.Errorf("node %q cannot update extended resource claim status", node)
	}
	return nil
}

func (p *Plugin) storedPod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	pod, err := p.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, missingError{err}
	}
	return pod, err
}
