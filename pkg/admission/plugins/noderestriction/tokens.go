package noderestriction

import (
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-helpers/storage/ephemeral"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
)

// serviceAccount lets a node request tokens of its pods.
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
	if p.anyAudience {
		return nil
	}
	return p.audience(ctx, pod, request.Spec.Audiences, a)
}

// audience lets a node request tokens only for audiences that a volume of the pod needs, or that the node is authorized
// to request (KEP-4412).
func (p *Plugin) audience(ctx context.Context, pod *corev1.Pod, audiences []string, a admission.Attributes) error {
	if len(audiences) > 1 {
		return errors.New("node may only request 0 or 1 audiences")
	}
	audience := "" // the audience of the server itself
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
	// An authorizer may allow a request and return an error of the rules that it couldn't evaluate.
	if decision == authorizer.DecisionAllow {
		return nil
	}
	if err != nil {
		return fmt.Errorf("audience %q not found in pod spec volume, error authorizing %s to request tokens for this audience: %w", audience, a.GetUserInfo().GetName(), err)
	}
	return fmt.Errorf("audience %q not found in pod spec volume, %s is not authorized to request tokens for this audience", audience, a.GetUserInfo().GetName())
}

// podNeedsAudience reports whether a volume of the pod gets tokens for the audience. It returns an error if no volume
// does and the driver of one is unknown.
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
		driver, err := p.driverOf(ctx, pod, volume)
		if err == nil && driver != "" {
			var needs bool
			if needs, err = p.driverNeedsAudience(ctx, driver, audience); needs {
				return true, nil
			}
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return false, utilerrors.NewAggregate(errs)
}

// driverOf returns the CSI driver of a volume, inline or of a claim, or "" without one. The driver may have replaced an
// in-tree plugin (KEP-625).
func (p *Plugin) driverOf(ctx context.Context, pod *corev1.Pod, volume *corev1.Volume) (string, error) {
	switch {
	case volume.Ephemeral != nil && volume.Ephemeral.VolumeClaimTemplate != nil:
		return p.driverOfClaim(ctx, pod.Namespace, ephemeral.VolumeClaimName(pod, volume))
	case volume.PersistentVolumeClaim != nil:
		return p.driverOfClaim(ctx, pod.Namespace, volume.PersistentVolumeClaim.ClaimName)
	case volume.CSI != nil:
		return volume.CSI.Driver, nil
	case inTree.IsInlineMigratable(volume):
		translated, err := inTree.TranslateInTreeInlineVolumeToCSI(klog.FromContext(ctx), volume, pod.Namespace)
		return driverOfVolume(translated), err
	}
	return "", nil
}

func (p *Plugin) driverOfClaim(ctx context.Context, namespace, name string) (string, error) {
	claim, err := p.Client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", orMissing(err, corev1.Resource("persistentvolumeclaim"), name)
	}
	if claim.Spec.VolumeName == "" {
		return "", apierrors.NewNotFound(corev1.Resource("persistentvolume"), "")
	}
	volume, err := p.Client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return "", orMissing(err, corev1.Resource("persistentvolume"), claim.Spec.VolumeName)
	}
	if volume.Spec.CSI == nil && inTree.IsPVMigratable(volume) {
		volume, err = inTree.TranslateInTreePVToCSI(klog.FromContext(ctx), volume)
	}
	return driverOfVolume(volume), err
}

// inTree maps in-tree plugins to the drivers that have replaced them.
var inTree = csitranslation.New()

func driverOfVolume(volume *corev1.PersistentVolume) string {
	if volume == nil || volume.Spec.CSI == nil {
		return ""
	}
	return volume.Spec.CSI.Driver
}

func (p *Plugin) driverNeedsAudience(ctx context.Context, name, audience string) (bool, error) {
	driver, err := p.Client.StorageV1().CSIDrivers().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, orMissing(err, storagev1.Resource("csidriver"), name)
	}
	for _, request := range driver.Spec.TokenRequests {
		if request.Audience == audience {
			return true, nil
		}
	}
	return false, nil
}

// orMissing names a missing object by its kind, as the reference's listers do.
func orMissing(err error, kind schema.GroupResource, name string) error {
	if apierrors.IsNotFound(err) {
		return apierrors.NewNotFound(kind, name)
	}
	return err
}
