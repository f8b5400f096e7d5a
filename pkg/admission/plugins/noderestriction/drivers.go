package noderestriction

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/storage/ephemeral"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
)

// drivers finds the CSIDriver objects of the cluster. A driver can declare audiences for which it needs tokens of
// pods.
type drivers struct{ client kubernetes.Interface }

// podNeedsAudience reports whether a volume of the pod needs tokens for the audience: a projected volume that names
// the audience, or a volume whose CSI driver declares it. If podNeedsAudience finds no such volume, but can't read
// the driver of a volume, it returns an error.
func (d drivers) podNeedsAudience(ctx context.Context, pod *corev1.Pod, audience string) (bool, error) {
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
		driver, err := d.driverOf(ctx, pod, volume)
		if err == nil && driver != "" {
			var needs bool
			if needs, err = d.driverNeedsAudience(ctx, driver, audience); needs {
				return true, nil
			}
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return false, utilerrors.NewAggregate(errs)
}

// driverOf returns the name of the CSI driver of a volume, or "" if the volume needs none. The volume is inline or
// refers to a claim. For a volume of an in-tree plugin, it returns the driver that has replaced the plugin
// (KEP-625).
func (d drivers) driverOf(ctx context.Context, pod *corev1.Pod, volume *corev1.Volume) (string, error) {
	switch {
	case volume.Ephemeral != nil && volume.Ephemeral.VolumeClaimTemplate != nil:
		return d.driverOfClaim(ctx, pod.Namespace, ephemeral.VolumeClaimName(pod, volume))
	case volume.PersistentVolumeClaim != nil:
		return d.driverOfClaim(ctx, pod.Namespace, volume.PersistentVolumeClaim.ClaimName)
	case volume.CSI != nil:
		return volume.CSI.Driver, nil
	case inTree.IsInlineMigratable(volume):
		translated, err := inTree.TranslateInTreeInlineVolumeToCSI(klog.FromContext(ctx), volume, pod.Namespace)
		return driverOfVolume(translated), err
	}
	return "", nil
}

func (d drivers) driverOfClaim(ctx context.Context, namespace, name string) (string, error) {
	claim, err := d.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", orMissing(err, corev1.Resource("persistentvolumeclaim"), name)
	}
	if claim.Spec.VolumeName == "" {
		return "", apierrors.NewNotFound(corev1.Resource("persistentvolume"), "")
	}
	volume, err := d.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return "", orMissing(err, corev1.Resource("persistentvolume"), claim.Spec.VolumeName)
	}
	if volume.Spec.CSI == nil && inTree.IsPVMigratable(volume) {
		volume, err = inTree.TranslateInTreePVToCSI(klog.FromContext(ctx), volume)
	}
	return driverOfVolume(volume), err
}

// inTree maps in-tree volume plugins to the CSI drivers that have replaced them.
var inTree = csitranslation.New()

func driverOfVolume(volume *corev1.PersistentVolume) string {
	if volume == nil || volume.Spec.CSI == nil {
		return ""
	}
	return volume.Spec.CSI.Driver
}

func (d drivers) driverNeedsAudience(ctx context.Context, name, audience string) (bool, error) {
	driver, err := d.client.StorageV1().CSIDrivers().Get(ctx, name, metav1.GetOptions{})
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
