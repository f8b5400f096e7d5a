package defaults

import (
	corev1 "k8s.io/api/core/v1"
)

// fileMode is the default mode of the files in projected volumes, and in volumes of secrets, config maps and the
// downward API.
const fileMode int32 = 0o644

// TokenLifetimeSeconds is the default lifetime of a token, in a projected volume or in a TokenRequest: one hour.
const TokenLifetimeSeconds int64 = 3600

func volume(v *corev1.Volume) {
	if v.VolumeSource == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	if s := v.Secret; s != nil {
		Pointer(&s.DefaultMode, fileMode)
	}
	if s := v.ConfigMap; s != nil {
		Pointer(&s.DefaultMode, fileMode)
	}
	if s := v.DownwardAPI; s != nil {
		Pointer(&s.DefaultMode, fileMode)
		downwardAPIFiles(s.Items)
	}
	if s := v.Projected; s != nil {
		Pointer(&s.DefaultMode, fileMode)
		for i := range s.Sources {
			projection(&s.Sources[i])
		}
	}
	if s := v.RBD; s != nil {
		rbd(&s.RBDPool, &s.RadosUser, &s.Keyring)
	}
	if s := v.ISCSI; s != nil {
		Zero(&s.ISCSIInterface, "default")
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
		Pointer(&s.ExpirationSeconds, TokenLifetimeSeconds)
	}
}

func downwardAPIFiles(files []corev1.DownwardAPIVolumeFile) {
	for i := range files {
		fieldRef(files[i].FieldRef)
	}
}

// VolumeSpec sets the defaults of the spec of a PersistentVolume. A VolumeAttachment may contain this spec too.
func VolumeSpec(spec *corev1.PersistentVolumeSpec) {
	ResourceList(spec.Capacity)
	if s := spec.RBD; s != nil {
		rbd(&s.RBDPool, &s.RadosUser, &s.Keyring)
	}
	if s := spec.ISCSI; s != nil {
		Zero(&s.ISCSIInterface, "default")
	}
	if s := spec.ScaleIO; s != nil {
		scaleIO(&s.StorageMode, &s.FSType)
	}
	hostPath(spec.HostPath)
	azureDisk(spec.AzureDisk)
}

// PersistentVolumeClaim sets the defaults of a PersistentVolumeClaim.
func PersistentVolumeClaim(c *corev1.PersistentVolumeClaim) {
	Zero(&c.Status.Phase, corev1.ClaimPending)
	claimSpec(&c.Spec)
	ResourceList(c.Status.Capacity)
	ResourceList(c.Status.AllocatedResources)
}

func claimSpec(s *corev1.PersistentVolumeClaimSpec) {
	Pointer(&s.VolumeMode, corev1.PersistentVolumeFilesystem)
	ResourceList(s.Resources.Limits)
	ResourceList(s.Resources.Requests)
}

func hostPath(s *corev1.HostPathVolumeSource) {
	if s != nil {
		Pointer(&s.Type, corev1.HostPathUnset)
	}
}

func azureDisk(s *corev1.AzureDiskVolumeSource) {
	if s != nil {
		Pointer(&s.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		Pointer(&s.FSType, "ext4")
		Pointer(&s.ReadOnly, false)
		Pointer(&s.Kind, corev1.AzureSharedBlobDisk)
	}
}

func rbd(pool, user, keyring *string) {
	Zero(pool, "rbd")
	Zero(user, "admin")
	Zero(keyring, "/etc/ceph/keyring")
}

func scaleIO(storageMode, fsType *string) {
	Zero(storageMode, "ThinProvisioned")
	Zero(fsType, "xfs")
}
