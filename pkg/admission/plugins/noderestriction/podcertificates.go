package noderestriction

import (
	"context"
	"fmt"
	"strings"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

// podCertificateRequest lets a kubelet request certificates for pods that run on its node, except for mirror pods. The
// request must name the pod's service account, and the UIDs of the pod, the service account and the node. A volume of
// the pod must need a certificate of the request's signer, or an authorizer must allow the signer.
func (p *Plugin) podCertificateRequest(ctx context.Context, node string, a admission.Attributes) error {
	if a.GetOperation() != admission.Create {
		return fmt.Errorf("unexpected operation %v", a.GetOperation())
	}
	if a.GetSubresource() != "" {
		return fmt.Errorf("unexpected subresource %v", a.GetSubresource())
	}
	request, ok := a.GetObject().(*certificatesv1beta1.PodCertificateRequest)
	if !ok {
		return fmt.Errorf("unexpected type %T", a.GetObject())
	}
	spec := &request.Spec
	if string(spec.NodeName) != node {
		return fmt.Errorf("PodCertificateRequest.Spec.NodeName=%q, which is not the requesting node %q", spec.NodeName, node)
	}
	podName := a.GetNamespace() + "/" + spec.PodName
	own, err := p.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return orOutdated(fmt.Errorf("while retrieving node %q named in the PodCertificateRequest: %w", node, err))
	}
	if own.UID != spec.NodeUID {
		return outdatedError{fmt.Errorf("PodCertificateRequest for pod %q names node UID %q, inconsistent with the running node (%q)", podName, spec.NodeUID, own.UID)}
	}
	pod, err := p.Client.CoreV1().Pods(a.GetNamespace()).Get(ctx, spec.PodName, metav1.GetOptions{})
	if err != nil {
		return orOutdated(fmt.Errorf("while retrieving pod %q named in the PodCertificateRequest: %w", podName, err))
	}
	_, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	switch {
	case pod.UID != spec.PodUID:
		return outdatedError{fmt.Errorf("PodCertificateRequest for pod %q contains pod UID (%q) which differs from running pod %q", podName, spec.PodUID, pod.UID)}
	case pod.Spec.NodeName != node:
		return fmt.Errorf("pod %q is not running on node %q named in the PodCertificateRequest", podName, node)
	case isMirror:
		return fmt.Errorf("pod %q is a mirror pod", podName)
	case pod.Spec.ServiceAccountName != spec.ServiceAccountName:
		return fmt.Errorf("PodCertificateRequest for pod %q contains serviceAccountName (%q) that differs from running pod (%q)", podName, spec.ServiceAccountName, pod.Spec.ServiceAccountName)
	}
	account, err := p.Client.CoreV1().ServiceAccounts(a.GetNamespace()).Get(ctx, spec.ServiceAccountName, metav1.GetOptions{})
	if err != nil {
		return orOutdated(fmt.Errorf("while retrieving service account %q named in the PodCertificateRequest: %w", a.GetNamespace()+"/"+spec.ServiceAccountName, err))
	}
	if account.UID != spec.ServiceAccountUID {
		return outdatedError{fmt.Errorf("PodCertificateRequest for pod %q names service account UID %q, which differs from the running service account (%q)", podName, spec.ServiceAccountUID, account.UID)}
	}
	return p.podSigner(ctx, pod, spec, a)
}

// podSigner lets a kubelet request a pod's certificate of a signer if a volume of the pod has such a certificate, or if
// an authorizer allows the signer to the kubelet.
func (p *Plugin) podSigner(ctx context.Context, pod *corev1.Pod, spec *certificatesv1beta1.PodCertificateRequestSpec, a admission.Attributes) error {
	if projects(pod, func(s *corev1.VolumeProjection) bool {
		return s.PodCertificate != nil && s.PodCertificate.SignerName == spec.SignerName
	}) {
		return nil
	}
	// The name of a resource can't have a slash, so the name of the signer has a colon in its place.
	resource := strings.ReplaceAll(spec.SignerName, "/", ":")
	allowed, err := p.authorized(ctx, a, "request-serviceaccounts-podcertificate-signer", resource, spec.ServiceAccountName)
	switch {
	case err != nil:
		return fmt.Errorf("error authorizing %s to request podcertificaterequests for signer %q: %w", a.GetUserInfo().GetName(), spec.SignerName, err)
	case !allowed:
		return fmt.Errorf("pod %q does not mount a podCertificate projected volume for signer %q", a.GetNamespace()+"/"+spec.PodName, spec.SignerName)
	}
	return nil
}

// projects reports whether a projected volume of the pod has a source for which the function "is" returns true.
func projects(pod *corev1.Pod, is func(*corev1.VolumeProjection) bool) bool {
	for i := range pod.Spec.Volumes {
		projected := pod.Spec.Volumes[i].Projected
		if projected == nil {
			continue
		}
		for j := range projected.Sources {
			if is(&projected.Sources[j]) {
				return true
			}
		}
	}
	return false
}

// orOutdated returns the error of a read. A missing object may appear soon, so the error is then an outdatedError.
func orOutdated(err error) error {
	if apierrors.IsNotFound(err) {
		return outdatedError{err}
	}
	return err
}
