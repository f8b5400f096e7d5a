package noderestriction

import (
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-helpers/storage/ephemeral"
)

// serviceAccount lets a node ask for the tokens of its pods.
func (p *Plugin) serviceAccount(ctx context.Context, node string, a admission.Attributes) error {
	if a.GetOperation() != admission.Create || a.GetSubresource() != "token" {
		return nil
	}
	request, ok := a.GetObject().(*authenticationv1.TokenRequest)
	if !ok {
		return fmt.Errorf("unexpected type %T", a.GetObject())
	}
	bound := request.Spec.BoundObjectRef
	if bound == nil || bound.APIVersion != "v1" || bound.Kind != "Pod" || bound.Name == "" {
		return errors.New("node requested token not bound to a pod")
	}
	if bound.UID == "" {
		return errors.New("node requested token with a pod binding without a uid")
	}
	pod, err := p.storedPod(ctx, a.GetNamespace(), bound.Name)
	if err != nil {
		return err
	}
	if bound.UID != pod.UID {
		return fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", bound.UID)
	}
	if pod.Spec.NodeName != node {
		return errors.New("node requested token bound to a pod scheduled on a different node")
	}
	return p.audience(ctx, pod, request.Spec.Audiences, a)
}

// audience lets a node ask for tokens only to those whom the pod's volumes give tokens to, or whom it
// is authorized to ask for (KEP-4412).
func (p *Plugin) audience(ctx context.Context, pod *corev1.Pod, audiences []string, a admission.Attributes) error {
	if len(audiences) > 1 {
		return errors.New("node may only request 0 or 1 audiences")
	}
	audience := "" // that of the server itself
	if len(audiences) == 1 {
		audience = audiences[0]
	}
	found, err := p.podNeedsAudience(ctx, pod, audience)
	if err != nil {
		return fmt.Errorf("error validating audience %q: %w", audience, err)
	}
	if found {
		return nil
	}
	decision, _, err := p.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User:            a.GetUserInfo(),
		Verb:            "request-serviceaccounts-token-audience",
		Namespace:       a.GetNamespace(),
		APIVersion:      "v1",
		Resource:        audience,
		Name:            a.GetName(),
		ResourceRequest: true,
	})
	if err != nil {
		return fmt.Errorf("audience %q not found in pod spec volume, error authorizing %s to request tokens for this audience: %w", audience, a.GetUserInfo().GetName(), err)
	}
	if decision != authorizer.DecisionAllow {
		return fmt.Errorf("audience %q not found in pod spec volume, %s is not authorized to request tokens for this audience", audience, a.GetUserInfo().GetName())
	}
	return nil
}

func (p *Plugin) podNeedsAudience(ctx context.Context, pod *corev1.Pod, audience string) (bool, error) {
	var errs []error
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.Projected != nil {
			for _, source := range volume.Projected.Sources {
				if source.ServiceAccountToken != nil && source.ServiceAccountToken.Audience == audience {
					return true, nil
				}
			}
		}
		needs, err := p.volumeNeedsAudience(ctx, pod, volume, audience)
		if needs {
			return true, nil
		}
		errs = append(errs, err)
	}
	return false, errors.Join(errs...)
}

// volumeNeedsAudience tells whether the driver of the volume, inline or behind a claim, is given tokens
// of the pod for the audience.
func (p *Plugin) volumeNeedsAudience(ctx context.Context, pod *corev1.Pod, volume *corev1.Volume, audience string) (bool, error) {
	switch {
	case volume.CSI != nil:
		return p.driverNeedsAudience(ctx, volume.CSI.Driver, audience)
	case volume.PersistentVolumeClaim != nil:
		return p.claimNeedsAudience(ctx, pod.Namespace, volume.PersistentVolumeClaim.ClaimName, audience)
	case volume.Ephemeral != nil:
		return p.claimNeedsAudience(ctx, pod.Namespace, ephemeral.VolumeClaimName(pod, volume), audience)
	}
	return false, nil
}

func (p *Plugin) claimNeedsAudience(ctx context.Context, namespace, name, audience string) (bool, error) {
	claim, err := p.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil || claim.Spec.VolumeName == "" {
		return false, ignoreNotFound(err)
	}
	volume, err := p.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil || volume.Spec.CSI == nil {
		return false, ignoreNotFound(err)
	}
	return p.driverNeedsAudience(ctx, volume.Spec.CSI.Driver, audience)
}

func (p *Plugin) driverNeedsAudience(ctx context.Context, name, audience string) (bool, error) {
	driver, err := p.client.StorageV1().CSIDrivers().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, ignoreNotFound(err)
	}
	for _, request := range driver.Spec.TokenRequests {
		if request.Audience == audience {
			return true, nil
		}
	}
	return false, nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
