package podvalidation

import (
	"path"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

var reclaimPolicies = []corev1.PersistentVolumeReclaimPolicy{corev1.PersistentVolumeReclaimDelete,
	corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain}

// PersistentVolumeSpec checks the spec of a PersistentVolume. The argument "inline" is true for the spec in a
// VolumeAttachment.
func PersistentVolumeSpec(at *field.Path, spec *corev1.PersistentVolumeSpec, name string, inline bool) field.ErrorList {
	var f validation.Findings
	const notInline = "may not be specified in the context of inline volumes"
	if inline {
		f.AddIf(spec.ClaimRef != nil, field.Forbidden(at.Child("claimRef"), notInline))
		f.AddIf(len(spec.Capacity) > 0, field.Forbidden(at.Child("capacity"), notInline))
		f.AddIf(spec.CSI == nil, field.Required(at.Child("csi"), "has to be specified in the context of inline volumes"))
	}
	f.AddIf(len(spec.AccessModes) == 0, field.Required(at.Child("accessModes"), ""))
	f.Merge(accessModes(at.Child("accessModes"), spec.AccessModes))
	if !inline {
		f.Merge(volumeCapacity(at.Child("capacity"), spec.Capacity))
	}
	policy := spec.PersistentVolumeReclaimPolicy
	if inline {
		f.AddIf(policy != "" && policy != corev1.PersistentVolumeReclaimRetain, field.Forbidden(
			at.Child("persistentVolumeReclaimPolicy"), "may only be "+string(corev1.PersistentVolumeReclaimRetain)+" in the context of inline volumes"))
		f.AddIf(spec.NodeAffinity != nil, field.Forbidden(at.Child("nodeAffinity"), notInline))
	} else {
		if policy != "" {
			f.Merge(validation.OneOf(at.Child("persistentVolumeReclaimPolicy"), policy, reclaimPolicies...))
		}
		if spec.NodeAffinity != nil {
			required := at.Child("nodeAffinity", "required")
			if spec.NodeAffinity.Required == nil {
				f.Add(field.Required(required, "must specify required node constraints"))
			} else {
				f.Merge(NodeSelector(required, spec.NodeAffinity.Required))
			}
		}
	}
	f.Merge(persistentVolumeSource(at, spec, name))
	f.AddIf(spec.HostPath != nil && path.Clean(spec.HostPath.Path) == "/" && policy == corev1.PersistentVolumeReclaimRecycle,
		field.Forbidden(at.Child("persistentVolumeReclaimPolicy"), "may not be 'recycle' for a hostPath mount of '/'"))
	if inline {
		f.AddIf(spec.StorageClassName != "", field.Forbidden(at.Child("storageClassName"), notInline))
		f.AddIf(ptr.Deref(spec.VolumeMode, corev1.PersistentVolumeFilesystem) != corev1.PersistentVolumeFilesystem,
			field.Forbidden(at.Child("volumeMode"), "may not specify volumeMode other than Filesystem in the context of inline volumes"))
	} else {
		f.Merge(optionalClass(at.Child("storageClassName"), &spec.StorageClassName))
		f.Merge(validation.OptionalOneOf(at.Child("volumeMode"), spec.VolumeMode, volumeModes...))
	}
	if class := spec.VolumeAttributesClassName; class != nil {
		f.AddIf(*class == "", field.Required(at.Child("volumeAttributesClassName"), "an empty string is disallowed"))
		f.Merge(optionalClass(at.Child("volumeAttributesClassName"), class))
		f.AddIf(spec.CSI == nil, field.Required(at.Child("csi"), "has to be specified when using volumeAttributesClassName"))
	}
	return f.Errs
}

func volumeCapacity(path *field.Path, capacity corev1.ResourceList) field.ErrorList {
	var f validation.Findings
	f.AddIf(len(capacity) == 0, field.Required(path, ""))
	if _, ok := capacity[corev1.ResourceStorage]; !ok || len(capacity) > 1 {
		f.Add(field.NotSupported(path, capacity, []corev1.ResourceName{corev1.ResourceStorage}))
	}
	for name, amount := range validation.Sorted(capacity) {
		path := path.Key(string(name))
		f.Merge(BasicQuantity(path, amount), positiveQuantity(path, amount))
	}
	return f.Errs
}

// persistentVolumeSource checks that a volume has exactly one source, and checks that source.
func persistentVolumeSource(at *field.Path, spec *corev1.PersistentVolumeSpec, name string) field.ErrorList {
	var f validation.Findings
	found := false
	source := reflect.ValueOf(spec.PersistentVolumeSource)
	for _, kind := range persistentVolumeKinds {
		value := source.FieldByName(kind.field)
		switch {
		case value.IsNil():
			continue
		case found && kind.field != "FlexVolume":
			f.Add(field.Forbidden(at.Child(kind.name), "may not specify more than 1 volume type"))
			continue
		}
		found = true
		if kind.field == "ISCSI" {
			f.Merge(iscsiPortal(at.Child("iscsi"), spec.ISCSI, name))
		}
		f.Merge(kind.check(at.Child(kind.valuePath()), value.Interface()))
		f.AddIf(kind.field == "Local" && spec.NodeAffinity == nil,
			field.Required(at.Child("nodeAffinity"), "Local volume requires node affinity"))
	}
	f.AddIf(!found, field.Required(at, "must specify a volume type"))
	return f.Errs
}

// iscsiPortal checks the address of an iSCSI volume. The argument "name" is the name of the persistent volume.
func iscsiPortal(path *field.Path, s *corev1.ISCSIPersistentVolumeSource, name string) field.ErrorList {
	f := validation.Findings{Errs: validation.Present(path, "targetPortal", s.TargetPortal)}
	f.AddIf(s.InitiatorName != nil && len(name+":"+s.TargetPortal) > maxISCSIInitiator,
		field.Invalid(path.Child("targetportal"), s.TargetPortal, iscsiInitiatorTooLong))
	return f.Errs
}

// persistentVolumeKinds are the kinds of sources of persistent volumes, in the order of the checks.
var persistentVolumeKinds = []volumeKind{
	kind("HostPath", "hostPath", "", hostPathVolume),
	kind("GCEPersistentDisk", "gcePersistentDisk", "persistentDisk", func(path *field.Path, s *corev1.GCEPersistentDiskVolumeSource) field.ErrorList {
		return append(validation.Present(path, "pdName", s.PDName), diskPartition(path, s.Partition)...)
	}),
	kind("AWSElasticBlockStore", "awsElasticBlockStore", "", func(path *field.Path, s *corev1.AWSElasticBlockStoreVolumeSource) field.ErrorList {
		return append(validation.Present(path, "volumeID", s.VolumeID), diskPartition(path, s.Partition)...)
	}),
	kind("Glusterfs", "glusterfs", "", func(path *field.Path, s *corev1.GlusterfsPersistentVolumeSource) field.ErrorList {
		errs := validation.Present(path, "endpoints", s.EndpointsName, "path", s.Path)
		switch {
		case s.EndpointsNamespace == nil:
		case *s.EndpointsNamespace == "":
			errs = append(errs, field.Invalid(path.Child("endpointsNamespace"), "", "if the endpointnamespace is set, it must be a valid namespace name"))
		default:
			errs = append(errs, validation.Follows(validation.Named(apivalidation.ValidateNamespaceName), path.Child("endpointsNamespace"), *s.EndpointsNamespace)...)
		}
		return errs
	}),
	kind("Flocker", "flocker", "", flockerVolume),
	kind("NFS", "nfs", "", nfsVolume),
	kind("RBD", "rbd", "", func(path *field.Path, s *corev1.RBDPersistentVolumeSource) field.ErrorList {
		return append(monitors(path, s.CephMonitors), validation.Present(path, "image", s.RBDImage)...)
	}),
	kind("Quobyte", "quobyte", "", quobyteVolume),
	kind("CephFS", "cephFS", "cephfs", func(path *field.Path, s *corev1.CephFSPersistentVolumeSource) field.ErrorList {
		return monitors(path, s.Monitors)
	}),
	kind("ISCSI", "iscsi", "", iscsiPersistentVolume),
	kind("Cinder", "cinder", "", func(path *field.Path, s *corev1.CinderPersistentVolumeSource) field.ErrorList {
		errs := validation.Present(path, "volumeID", s.VolumeID)
		if s.SecretRef != nil {
			errs = append(errs, validation.Present(path.Child("secretRef"), "name", s.SecretRef.Name, "namespace", s.SecretRef.Namespace)...)
		}
		return errs
	}),
	kind("FC", "fc", "", fibreChannelVolume),
	kind("FlexVolume", "flexVolume", "", func(path *field.Path, s *corev1.FlexPersistentVolumeSource) field.ErrorList {
		return flexVolume(path, s.Driver, s.Options)
	}),
	kind("AzureFile", "azureFile", "", func(path *field.Path, s *corev1.AzureFilePersistentVolumeSource) field.ErrorList {
		errs := validation.Present(path, "secretName", s.SecretName, "shareName", s.ShareName)
		if s.SecretNamespace != nil && *s.SecretNamespace == "" {
			errs = append(errs, field.Required(path.Child("secretNamespace"), ""))
		}
		return errs
	}),
	kind("VsphereVolume", "vsphereVolume", "", vsphereVolume),
	kind("PhotonPersistentDisk", "photonPersistentDisk", "", photonDisk),
	kind("PortworxVolume", "portworxVolume", "", portworxVolume),
	kind("AzureDisk", "azureDisk", "", azureDiskVolume),
	kind("ScaleIO", "scaleIO", "", func(path *field.Path, s *corev1.ScaleIOPersistentVolumeSource) field.ErrorList {
		return validation.Present(path, "gateway", s.Gateway, "system", s.System, "volumeName", s.VolumeName)
	}),
	kind("Local", "local", "", func(at *field.Path, s *corev1.LocalVolumeSource) field.ErrorList {
		if s.Path == "" {
			return validation.Present(at, "path", s.Path)
		}
		return validation.Follows(noBacksteps, at.Child("path"), s.Path)
	}),
	kind("StorageOS", "storageos", "", func(path *field.Path, s *corev1.StorageOSPersistentVolumeSource) field.ErrorList {
		errs := storageOSNames(path, s.VolumeName, s.VolumeNamespace)
		if s.SecretRef != nil {
			errs = append(errs, validation.Present(path.Child("secretRef"), "name", s.SecretRef.Name, "namespace", s.SecretRef.Namespace)...)
		}
		return errs
	}),
	kind("CSI", "csi", "", csiPersistentVolume),
}

// iscsiPersistentVolume checks an iSCSI volume, except the address. iscsiPortal checks the address.
func iscsiPersistentVolume(path *field.Path, s *corev1.ISCSIPersistentVolumeSource) field.ErrorList {
	const form = "must be valid format"
	f := validation.Findings{Errs: validation.Present(path, "iqn", s.IQN)}
	if s.IQN != "" {
		f.Merge(iscsiName(path.Child("iqn"), s.IQN, form))
	}
	f.Merge(lun(path, s.Lun, s.Lun))
	f.AddIf((s.DiscoveryCHAPAuth || s.SessionCHAPAuth) && s.SecretRef == nil, field.Required(path.Child("secretRef"), ""))
	if s.SecretRef != nil {
		f.Merge(validation.Present(path.Child("secretRef"), "name", s.SecretRef.Name))
	}
	if s.InitiatorName != nil {
		f.Merge(iscsiName(path.Child("initiatorname"), *s.InitiatorName, form))
	}
	return f.Errs
}

// csiPersistentVolume checks a CSI volume. As in kube-apiserver, nodeStageSecretRef isn't checked.
func csiPersistentVolume(path *field.Path, s *corev1.CSIPersistentVolumeSource) field.ErrorList {
	f := validation.Findings{Errs: CSIDriverName(path.Child("driver"), s.Driver)}
	f.Merge(validation.Present(path, "volumeHandle", s.VolumeHandle))
	for _, ref := range []struct {
		name string
		ref  *corev1.SecretReference
	}{
		{"controllerPublishSecretRef", s.ControllerPublishSecretRef},
		{"controllerExpandSecretRef", s.ControllerExpandSecretRef},
		{"nodePublishSecretRef", s.NodePublishSecretRef},
		{"nodeExpandSecretRef", s.NodeExpandSecretRef},
	} {
		if ref.ref == nil {
			continue
		}
		path := path.Child(ref.name)
		f.Merge(validation.Required(utilvalidation.IsDNS1123Subdomain, path.Child("name"), ref.ref.Name),
			validation.Required(utilvalidation.IsDNS1123Label, path.Child("namespace"), ref.ref.Namespace))
	}
	return f.Errs
}
