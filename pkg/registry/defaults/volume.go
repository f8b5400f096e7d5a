package defaults

import (
	corev1 "k8s.io/api/core/v1"
)

// fileMode is the mode of files made from secrets, config maps and the downward API.
const fileMode int32 = 0o644

// tokenLifetimeSeconds is how long projected and requested tokens are valid: an hour.
const tokenLifetimeSeconds int64 = 3600

func volume(v *corev1.Volume) {
	if v.VolumeSource == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	if s := v.Secret; s != nil {
		pointer(&s.DefaultMode, fileMode)
	}
	if s := v.ConfigMap; s != nil {
		pointer(&s.DefaultMode, fileMode)
	}
	if s := v.DownwardAPI; s != nil {
		pointer(&s.DefaultMode, fileMode)
		downwardAPIFiles(s.Items)
	}
	if s := v.Projected; s != nil {
		pointer(&s.DefaultMode, fileMode)
		for i := range s.Sources {
			projection(&s.Sources[i])
		}
	}
	if s := v.RBD; s != nil {
		rbd(&s.RBDPool, &s.RadosUser, &s.Keyring)
	}
	if s := v.ISCSI; s != nil {
		zero(&s.ISCSIInterface, "default")
	}
	if s := v.ScaleIO; s != nil {
		scaleIO(&s.StorageMode, &s.FSType)
	}
	if s := v.Image; s != nil {
		imagePullPolicy(&s.PullPolicy, s.Reference)
	}
	if s := v.Ephemeral; s != nil && s.VolumeClaimTemplate != nil {
		claimSpec(&s.VolumeClaimTemplate.Spec)
	}
	hostPath(v.HostPath)
	azureDisk(v.AzureDisk)
}

func projection(p *corev1.VolumeProjection) {
	if s := p.DownwardAPI; s != nil {
		downwardAPIFiles(s.Items)
	}
	if s := p.ServiceAccountToken; s != nil {
		pointer(&s.ExpirationSeconds, tokenLifetimeSeconds)
	}
}

func downwardAPIFiles(files []corev1.DownwardAPIVolumeFile) {
	for i := range files {
		fieldRef(files[i].FieldRef)
	}
}

// PersistentVolume sets the defaults of a PersistentVolume.
func PersistentVolume(v *corev1.PersistentVolume) {
	zero(&v.Status.Phase, corev1.VolumePending)
	zero(&v.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	pointer(&v.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	volumeSpec(&v.Spec)
}

// volumeSpec sets the defaults that a volume's spec gets wherever it is: in a
// PersistentVolume, and inline in a VolumeAttachment.
func volumeSpec(spec *corev1.PersistentVolumeSpec) {
	resourceList(spec.Capacity)
	if s := spec.RBD; s != nil {
		rbd(&s.RBDPool, &s.RadosUser, &s.Keyring)
	}
	if s := spec.ISCSI; s != nil {
		zero(&s.ISCSIInterface, "default")
	}
	if s := spec.ScaleIO; s != nil {
		scaleIO(&s.StorageMode, &s.FSType)
	}
	hostPath(spec.HostPath)
	azureDisk(spec.AzureDisk)
}

// PersistentVolumeClaim sets the defaults of a PersistentVolumeClaim.
func PersistentVolumeClaim(c *corev1.PersistentVolumeClaim) {
	zero(&c.Status.Phase, corev1.ClaimPending)
	claimSpec(&c.Spec)
	resourceList(c.Status.Capacity)
	resourceList(c.Status.AllocatedResources)
}

func claimSpec(s *corev1.PersistentVolumeClaimSpec) {
	pointer(&s.VolumeMode, corev1.PersistentVolumeFilesystem)
	resourceList(s.Resources.Limits)
	resourceList(s.Resources.Requests)
}

func hostPath(s *corev1.HostPathVolumeSource) {
	if s != nil {
		pointer(&s.Type, corev1.HostPathUnset)
	}
}

func azureDisk(s *corev1.AzureDiskVolumeSource) {
	if s != nil {
		pointer(&s.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		pointer(&s.FSType, "ext4")
		pointer(&s.ReadOnly, false)
		pointer(&s.Kind, corev1.AzureSharedBlobDisk)
	}
}

func rbd(pool, user, keyring *string) {
	zero(pool, "rbd")
	zero(user, "admin")
	zero(keyring, "/etc/ceph/keyring")
}

func scaleIO(storageMode, fsType *string) {
	zero(storageMode, "ThinProvisioned")
	zero(fsType, "xfs")
}
