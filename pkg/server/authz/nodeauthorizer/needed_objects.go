package nodeauthorizer

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	certificatesv1listers "k8s.io/client-go/listers/certificates/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	resourcev1listers "k8s.io/client-go/listers/resource/v1"
	storagev1listers "k8s.io/client-go/listers/storage/v1"
)

// objectKind is a kind of object that a node may need.
type objectKind int

const (
	pod objectKind = iota
	secret
	configMap
	claim
	volume
	serviceAccount
	resourceClaim
	attachment
	resourceSlice
	certificateRequest
)

// objects finds out which objects a node needs.
type objects struct {
	pods        corev1listers.PodLister
	volumes     corev1listers.PersistentVolumeLister
	attachments storagev1listers.VolumeAttachmentLister
	slices      resourcev1listers.ResourceSliceLister
	requests    certificatesv1listers.PodCertificateRequestLister
}

// needs tells whether the node needs the object: the object names the node, a pod that is bound to the node uses the
// object, or the object is a secret of a volume that such a pod uses.
func (o *objects) needs(node string, kind objectKind, namespace, name string) bool {
	switch kind {
	case attachment:
		attachment, err := o.attachments.Get(name)
		return err == nil && attachment.Spec.NodeName == node
	case resourceSlice:
		slice, err := o.slices.Get(name)
		return err == nil && slice.Spec.NodeName != nil && *slice.Spec.NodeName == node
	case certificateRequest:
		request, err := o.requests.PodCertificateRequests(namespace).Get(name)
		return err == nil && string(request.Spec.NodeName) == node
	case pod:
		pod, err := o.pods.Pods(namespace).Get(name)
		return err == nil && pod.Spec.NodeName == node
	case volume:
		return o.needsVolume(node, name)
	case secret:
		return o.podNeeds(node, secret, namespace, name) || o.volumeNeeds(node, namespace, name)
	}
	return o.podNeeds(node, kind, namespace, name)
}

// podNeeds tells whether any pod refers to the object. Only pods in the namespace that are bound to the node count.
func (o *objects) podNeeds(node string, kind objectKind, namespace, name string) bool {
	pods, err := o.pods.Pods(namespace).List(labels.Everything())
	return err == nil && slices.ContainsFunc(pods, func(p *corev1.Pod) bool {
		return p.Spec.NodeName == node && slices.Contains(references(p)[kind], name)
	})
}

// needsVolume tells whether a pod that is bound to the node uses the claim that the volume is bound to.
func (o *objects) needsVolume(node, name string) bool {
	volume, err := o.volumes.Get(name)
	if err != nil || volume.Spec.ClaimRef == nil {
		return false
	}
	return o.podNeeds(node, claim, volume.Spec.ClaimRef.Namespace, volume.Spec.ClaimRef.Name)
}

// volumeNeeds tells whether a volume that the node needs refers to the secret.
func (o *objects) volumeNeeds(node, namespace, name string) bool {
	volumes, err := o.volumes.List(labels.Everything())
	return err == nil && slices.ContainsFunc(volumes, func(v *corev1.PersistentVolume) bool {
		return slices.Contains(volumeSecrets(v), corev1.SecretReference{Namespace: namespace, Name: name}) && o.needsVolume(node, v.Name)
	})
}
