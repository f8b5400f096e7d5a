package persistentvolume

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/reference"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"
)

// Provisioner is the provisioner of StorageClasses whose volumes only pretend to be storage. It is also the volumes' CSI
// driver, so it is a DNS subdomain.
const Provisioner = "pretended.miniapi.dev"

// inTree is the prefix of the names of provisioners that were part of Kubernetes.
const inTree = "kubernetes.io/"

// migrated has the CSI drivers that do the work of provisioners that were part of Kubernetes.
var migrated = map[string]string{
	inTree + "aws-ebs":         "ebs.csi.aws.com",
	inTree + "azure-disk":      "disk.csi.azure.com",
	inTree + "azure-file":      "file.csi.azure.com",
	inTree + "cinder":          "cinder.csi.openstack.org",
	inTree + "gce-pd":          "pd.csi.storage.gke.io",
	inTree + "portworx-volume": "pxd.portworx.com",
	inTree + "vsphere-volume":  "csi.vsphere.vmware.com",
}

// defaultClassAnnotation is the annotation of the StorageClass for claims that name none.
const defaultClassAnnotation = "storageclass.kubernetes.io/is-default-class"

// DefaultClass returns a default StorageClass of pretended volumes.
func DefaultClass() *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: "standard", Annotations: map[string]string{defaultClassAnnotation: "true"}},
		Provisioner: Provisioner, AllowVolumeExpansion: new(true),
	}
}

// defaultClass returns the newest StorageClass that is a default, or nil.
func (b *binder) defaultClass() *storagev1.StorageClass {
	all, err := b.classes.List(labels.Everything())
	if err != nil {
		return nil // the error is impossible: the classes are read from a store
	}
	all = slices.DeleteFunc(all, func(class *storagev1.StorageClass) bool {
		return class.Annotations[defaultClassAnnotation] != "true" && class.Annotations["storageclass.beta.kubernetes.io/is-default-class"] != "true"
	})
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b *storagev1.StorageClass) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}

// provision makes a volume for a claim, or asks the provisioner of the claim's class to make one.
func (b *binder) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	name := volume.GetPersistentVolumeClaimClass(claim)
	class, err := b.classes.Get(name)
	if err != nil {
		b.Events.Warn(claim, "ProvisioningFailed", "storageclass.storage.k8s.io %q not found", name)
		return nil
	}
	provisioner := cmp.Or(migrated[class.Provisioner], class.Provisioner)
	if strings.HasPrefix(provisioner, inTree) {
		b.Events.Warn(claim, "ProvisioningFailed", "no volume plugin matched name: %s", provisioner)
		return nil
	}
	changed := claim.DeepCopy()
	for _, annotation := range []string{volume.AnnBetaStorageProvisioner, volume.AnnStorageProvisioner} {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, annotation, provisioner)
	}
	if !maps.Equal(claim.Annotations, changed.Annotations) {
		if claim, err = b.Client.PersistentVolumeClaims(claim.Namespace).Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if provisioner != Provisioner {
		b.Events.Tell(claim, "ExternalProvisioning", "Waiting for a volume to be created either by the external provisioner '%s' "+
			"or manually by the system administrator. If volume creation is delayed, please verify that "+
			"the provisioner is running and correctly registered.", provisioner)
		return nil
	}
	pretended, err := pretend(claim, class)
	if err != nil {
		return err
	}
	_, err = b.Client.PersistentVolumes().Create(ctx, pretended, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err == nil {
		b.Events.Tell(claim, "ProvisioningSucceeded", "Successfully provisioned volume %s using %s", pretended.Name, Provisioner)
	}
	return err
}

// pretend returns a volume for a claim. The volume refers to the claim. When the volume is there, the claim is bound.
func pretend(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) (*corev1.PersistentVolume, error) {
	claimRef, err := reference.GetReference(scheme.Scheme, claim)
	if err != nil {
		return nil, err
	}
	name := "pvc-" + string(claim.UID)
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
			volume.AnnBoundByController: "yes", volume.AnnDynamicallyProvisioned: Provisioner,
		}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes: claim.Spec.AccessModes, VolumeMode: claim.Spec.VolumeMode, MountOptions: class.MountOptions,
			PersistentVolumeReclaimPolicy: ptr.Deref(class.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete),
			StorageClassName:              class.Name, VolumeAttributesClassName: claim.Spec.VolumeAttributesClassName,
			ClaimRef: claimRef,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: Provisioner, VolumeHandle: cache.MetaObjectToName(claim).String(),
			}},
		},
	}, nil
}

// isPretended reports whether a volume only pretends to be storage.
func isPretended(v *corev1.PersistentVolume) bool {
	return v.Spec.CSI != nil && v.Spec.CSI.Driver == Provisioner
}

// grow gives a pretended volume the size that its claim requests, as the resizer of a driver does. The server lets a claim
// request more only if its class allows that.
func (b *binder) grow(ctx context.Context, v *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolume, error) {
	wanted, size := claim.Spec.Resources.Requests[corev1.ResourceStorage], v.Spec.Capacity[corev1.ResourceStorage]
	if !isPretended(v) || wanted.Cmp(size) <= 0 {
		return v, nil
	}
	changed := v.DeepCopy()
	changed.Spec.Capacity[corev1.ResourceStorage] = wanted
	grown, err := b.Client.PersistentVolumes().Update(ctx, changed, metav1.UpdateOptions{})
	if err == nil {
		b.Events.Tell(claim, "VolumeResizeSuccessful", "Resize volume succeeded")
	}
	return grown, err
}
