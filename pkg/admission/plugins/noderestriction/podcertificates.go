package noderestriction

import (
	"context"
	"fmt"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

// podCertificateRequest lets a kubelet request certificates for pods that run on its node, except for mirror pods. The
// request must name the pod's service account, and the UIDs of the pod, the service account and the node.
func (p *Plugin) podCertificateRequest(ctx context.Context, node string, a admission.Attributes) error {
	if a.GetOperation() != admission.Create || a.GetSubresource() != "" {
		return fmt.Errorf("unexpected operation %q, node %q can only create pod certificate requests", a.GetOperation(), node)
	}
	request, ok := a.GetObject().(*certificatesv1beta1.PodCertificateRequest)
	if !ok {
		return fmt.Errorf("unexpected type %T", a.GetObject())
	}
	spec := &request.Spec
	if string(spec.NodeName) != node {
		return fmt.Errorf("PodCertificateRequest.Spec.NodeName=%q, which is not the requesting node %q", spec.NodeName, node)
	}
	pod, err := p.storedPod(ctx, a.GetNamespace(), spec.PodName)
	if err != nil {
		return err
	}
	_, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	switch {
	case pod.UID != spec.PodUID:
		return fmt.Errorf("PodCertificateRequest for pod %q contains pod UID (%q) which differs from running pod %q", spec.PodName, spec.PodUID, pod.UID)
	case isMirror:
		return fmt.Errorf("pod %q is a mirror pod", spec.PodName)
	case pod.Spec.NodeName != node:
		return fmt.Errorf("pod %q is not running on node %q", spec.PodName, node)
	case pod.Spec.ServiceAccountName != spec.ServiceAccountName:
		return fmt.Errorf("PodCertificateRequest for pod %q contains serviceAccountName (%q) that differs from running pod (%q)", spec.PodName, spec.ServiceAccountName, pod.Spec.ServiceAccountName)
	}
	account, err := p.Client.CoreV1().ServiceAccounts(a.GetNamespace()).Get(ctx, spec.ServiceAccountName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("while retrieving service account %q: %w", spec.ServiceAccountName, err)
	}
	if account.UID != spec.ServiceAccountUID {
		return fmt.Errorf("PodCertificateRequest for pod %q contains serviceAccountUID (%q) that differs from the service account's (%q)", spec.PodName, spec.ServiceAccountUID, account.UID)
	}
	own, err := p.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("while retrieving node %q: %w", node, err)
	}
	if own.UID != spec.NodeUID {
		return fmt.Errorf("PodCertificateRequest for pod %q contains nodeUID (%q) that differs from the node's (%q)", spec.PodName, spec.NodeUID, own.UID)
	}
	return nil
}
