package podvalidation

import (
	"net"
	"path"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// volumeKind is a kind of volume source, such as hostPath.
type volumeKind struct {
	// field is the name of the field in corev1.VolumeSource.
	field string
	// "name" is the name of the kind in the error about a second source. "within" is the name of the kind in
	// errors about the source itself, or "" if both names are equal. The names are kube-apiserver's, with its
	// mistakes.
	name, within string
	check        func(*field.Path, any) field.ErrorList
}

func (k volumeKind) valuePath() string {
	if k.within != "" {
		return k.within
	}
	return k.name
}

// kind returns a volumeKind with the Go name of its field, its names in errors, and the function that checks the
// source.
func kind[T any](goName, name, within string, check func(*field.Path, *T) field.ErrorList) volumeKind {
	return volumeKind{goName, name, within, func(path *field.Path, v any) field.ErrorList { return check(path, v.(*T)) }}
}

// volumeKinds are the kinds of volume sources in pods, in the order of the checks.
var volumeKinds = []volumeKind{
	kind("EmptyDir", "emptyDir", "", emptyDirVolume),
	kind("HostPath", "hostPath", "", hostPathVolume),
	kind("GitRepo", "gitRepo", "", func(path *field.Path, s *corev1.GitRepoVolumeSource) field.ErrorList {
		return append(validation.Present(path, "repository", s.Repository), descendingPath(path.Child("directory"), s.Directory)...)
	}),
	kind("GCEPersistentDisk", "gcePersistentDisk", "persistentDisk", func(path *field.Path, s *corev1.GCEPersistentDiskVolumeSource) field.ErrorList {
		return append(validation.Present(path, "pdName", s.PDName), diskPartition(path, s.Partition)...)
	}),
	kind("AWSElasticBlockStore", "awsElasticBlockStore", "", func(path *field.Path, s *corev1.AWSElasticBlockStoreVolumeSource) field.ErrorList {
		return append(validation.Present(path, "volumeID", s.VolumeID), diskPartition(path, s.Partition)...)
	}),
	kind("Secret", "secret", "", func(path *field.Path, s *corev1.SecretVolumeSource) field.ErrorList {
		return keyVolume(path, "secretName", s.SecretName, s.DefaultMode, s.DefaultUser, s.Items)
	}),
	kind("NFS", "nfs", "", nfsVolume),
	kind("ISCSI", "iscsi", "", iscsiVolume),
	kind("Glusterfs", "glusterfs", "", func(path *field.Path, s *corev1.GlusterfsVolumeSource) field.ErrorList {
		return validation.Present(path, "endpoints", s.EndpointsName, "path", s.Path)
	}),
	kind("Flocker", "flocker", "", flockerVolume),
	kind("PersistentVolumeClaim", "persistentVolumeClaim", "", func(path *field.Path, s *corev1.PersistentVolumeClaimVolumeSource) field.ErrorList {
		return validation.Present(path, "claimName", s.ClaimName)
	}),
	kind("RBD", "rbd", "", func(path *field.Path, s *corev1.RBDVolumeSource) field.ErrorList {
		return append(monitors(path, s.CephMonitors), validation.Present(path, "image", s.RBDImage)...)
	}),
	kind("Cinder", "cinder", "", func(path *field.Path, s *corev1.CinderVolumeSource) field.ErrorList {
		return append(validation.Present(path, "volumeID", s.VolumeID), secretRef(path, s.SecretRef)...)
	}),
	kind("CephFS", "cephFS", "cephfs", func(path *field.Path, s *corev1.CephFSVolumeSource) field.ErrorList {
		return monitors(path, s.Monitors)
	}),
	kind("Quobyte", "quobyte", "", quobyteVolume),
	kind("DownwardAPI", "downwarAPI", "downwardAPI", downwardVolume),
	kind("FC", "fc", "", fibreChannelVolume),
	kind("FlexVolume", "flexVolume", "", func(path *field.Path, s *corev1.FlexVolumeSource) field.ErrorList {
		return flexVolume(path, s.Driver, s.Options)
	}),
	kind("ConfigMap", "configMap", "", func(path *field.Path, s *corev1.ConfigMapVolumeSource) field.ErrorList {
		return keyVolume(path, "name", s.Name, s.DefaultMode, s.DefaultUser, s.Items)
	}),
	kind("AzureFile", "azureFile", "", func(path *field.Path, s *corev1.AzureFileVolumeSource) field.ErrorList {
		return validation.Present(path, "secretName", s.SecretName, "shareName", s.ShareName)
	}),
	kind("VsphereVolume", "vsphereVolume", "", vsphereVolume),
	kind("PhotonPersistentDisk", "photonPersistentDisk", "", photonDisk),
	kind("PortworxVolume", "portworxVolume", "", portworxVolume),
	kind("AzureDisk", "azureDisk", "", azureDiskVolume),
	kind("StorageOS", "storageos", "", func(path *field.Path, s *corev1.StorageOSVolumeSource) field.ErrorList {
		return append(storageOSNames(path, s.VolumeName, s.VolumeNamespace), secretRef(path, s.SecretRef)...)
	}),
	kind("Projected", "projected", "", projectedVolume),
	kind("ScaleIO", "scaleIO", "", func(path *field.Path, s *corev1.ScaleIOVolumeSource) field.ErrorList {
		return validation.Present(path, "gateway", s.Gateway, "system", s.System, "volumeName", s.VolumeName)
	}),
	kind("CSI", "csi", "", csiVolume),
	kind("Ephemeral", "ephemeral", "", ephemeralVolume),
	kind("Image", "image", "", func(path *field.Path, s *corev1.ImageVolumeSource) field.ErrorList {
		return append(validation.Present(path, "reference", s.Reference), pullPolicy(path.Child("pullPolicy"), s.PullPolicy)...)
	}),
}

func secretRef(path *field.Path, ref *corev1.LocalObjectReference) field.ErrorList {
	if ref == nil {
		return nil
	}
	return validation.Present(path.Child("secretRef"), "name", ref.Name)
}

func monitors(path *field.Path, addresses []string) field.ErrorList {
	if len(addresses) > 0 {
		return nil
	}
	return field.ErrorList{field.Required(path.Child("monitors"), "")}
}

func diskPartition(path *field.Path, n int32) field.ErrorList {
	if 0 <= n && n <= 255 {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("partition"), n, utilvalidation.InclusiveRangeError(1, 255))}
}

// lun checks a logical unit number. The error shows the argument "value".
func lun(path *field.Path, n int32, value any) field.ErrorList {
	if 0 <= n && n <= 255 {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("lun"), value, utilvalidation.InclusiveRangeError(0, 255))}
}

func fileMode(path *field.Path, mode *int32) field.ErrorList {
	if mode == nil || 0 <= *mode && *mode <= 0777 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *mode, "must be a number between 0 and 0777 (octal), both inclusive")}
}

// keyVolume checks a volume with the keys of a Secret or ConfigMap. The argument "value" is the name of the
// Secret or ConfigMap. The argument "name" is the name of the field that has this value.
func keyVolume(path *field.Path, name, value string, mode *int32, user *int64, items []corev1.KeyToPath) field.ErrorList {
	var f validation.Findings
	f.Merge(validation.Present(path, name, value), fileMode(path.Child("defaultMode"), mode), UserID(path.Child("defaultUser"), user))
	for i := range items {
		f.Merge(keyToPath(path.Child("items").Index(i), &items[i]))
	}
	return f.Errs
}

func keyToPath(path *field.Path, item *corev1.KeyToPath) field.ErrorList {
	var f validation.Findings
	f.Merge(
		validation.Present(path, "key", item.Key, "path", item.Path),
		filePath(path.Child("path"), item.Path),
		fileMode(path.Child("mode"), item.Mode),
		UserID(path.Child("user"), item.User))
	return f.Errs
}

func emptyDirVolume(path *field.Path, s *corev1.EmptyDirVolumeSource) field.ErrorList {
	var f validation.Findings
	f.AddIf(s.SizeLimit != nil && s.SizeLimit.Sign() < 0, field.Forbidden(path.Child("sizeLimit"), "SizeLimit field must be a valid resource quantity"))
	if m := s.Mode; m != nil && (*m < 0 || *m > 0o1777) {
		f.Add(field.Invalid(path.Child("mode"), *m, "must be a number between 0 and 01777 (octal), both inclusive"))
	}
	return f.Errs
}

func hostPathVolume(path *field.Path, s *corev1.HostPathVolumeSource) field.ErrorList {
	if s.Path == "" {
		return validation.Present(path, "path", s.Path)
	}
	return append(validation.Follows(noBacksteps, path.Child("path"), s.Path),
		validation.OptionalOneOf(path.Child("type"), s.Type, corev1.HostPathUnset, corev1.HostPathBlockDev, corev1.HostPathCharDev,
			corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate, corev1.HostPathFile,
			corev1.HostPathFileOrCreate, corev1.HostPathSocket)...)
}

func nfsVolume(at *field.Path, s *corev1.NFSVolumeSource) field.ErrorList {
	errs := validation.Present(at, "server", s.Server, "path", s.Path)
	if !path.IsAbs(s.Path) {
		errs = append(errs, field.Invalid(at.Child("path"), s.Path, "must be an absolute path"))
	}
	return errs
}

// maxISCSIInitiator bounds the length of an initiator's name. The name is made from a volume's name and a portal.
const maxISCSIInitiator = 64

const iscsiInitiatorTooLong = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."

// iscsiNames are the forms of iSCSI names, by their prefix. See RFC 3720, section 3.2.6.3.
var iscsiNames = map[string]*regexp.Regexp{
	"iqn": regexp.MustCompile(`iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`),
	"eui": regexp.MustCompile(`^eui.[[:alnum:]]{16}$`),
	"naa": regexp.MustCompile(`^naa.[[:alnum:]]{32}$`),
}

// iscsiName checks an iSCSI name. unknownPrefix is the message about an unknown prefix. As in kube-apiserver, the
// message for a volume of a pod is longer than the message for a persistent volume.
func iscsiName(path *field.Path, name, unknownPrefix string) field.ErrorList {
	for prefix, form := range iscsiNames {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if form.MatchString(name) {
			return nil
		}
		return field.ErrorList{field.Invalid(path, name, "must be valid format")}
	}
	return field.ErrorList{field.Invalid(path, name, unknownPrefix)}
}

func iscsiVolume(path *field.Path, s *corev1.ISCSIVolumeSource) field.ErrorList {
	const prefixes = "must be valid format starting with iqn, eui, or naa"
	var f validation.Findings
	f.Merge(validation.Present(path, "targetPortal", s.TargetPortal, "iqn", s.IQN))
	if s.IQN != "" {
		f.Merge(iscsiName(path.Child("iqn"), s.IQN, prefixes))
	}
	f.Merge(lun(path, s.Lun, s.Lun))
	f.AddIf((s.DiscoveryCHAPAuth || s.SessionCHAPAuth) && s.SecretRef == nil, field.Required(path.Child("secretRef"), ""))
	if s.InitiatorName != nil {
		f.Merge(iscsiName(path.Child("initiatorname"), *s.InitiatorName, prefixes))
	}
	return f.Errs
}

func flockerVolume(path *field.Path, s *corev1.FlockerVolumeSource) field.ErrorList {
	var f validation.Findings
	f.AddIf(s.DatasetName == "" && s.DatasetUUID == "", field.Required(path, "one of datasetName and datasetUUID is required"))
	f.AddIf(s.DatasetName != "" && s.DatasetUUID != "", field.Invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously"))
	f.AddIf(strings.Contains(s.DatasetName, "/"), field.Invalid(path.Child("datasetName"), s.DatasetName, "must not contain '/'"))
	return f.Errs
}

func quobyteVolume(path *field.Path, s *corev1.QuobyteVolumeSource) field.ErrorList {
	const pairs = "must be a host:port pair or multiple pairs separated by commas"
	var f validation.Findings
	switch {
	case s.Registry == "":
		f.Add(field.Required(path.Child("registry"), pairs))
	case len(s.Tenant) >= 65:
		f.Add(field.Required(path.Child("tenant"), "must be a UUID and may not exceed a length of 64 characters"))
	default:
		for pair := range strings.SplitSeq(s.Registry, ",") {
			_, _, err := net.SplitHostPort(pair)
			f.AddIf(err != nil, field.Invalid(path.Child("registry"), s.Registry, pairs))
		}
	}
	f.Merge(validation.Present(path, "volume", s.Volume))
	return f.Errs
}

func fibreChannelVolume(path *field.Path, s *corev1.FCVolumeSource) field.ErrorList {
	var f validation.Findings
	wwns := path.Child("targetWWNs")
	f.AddIf(len(s.TargetWWNs) == 0 && len(s.WWIDs) == 0, field.Required(wwns, "must specify either targetWWNs or wwids, but not both"))
	f.AddIf(len(s.TargetWWNs) > 0 && len(s.WWIDs) > 0, field.Invalid(wwns, s.TargetWWNs, "targetWWNs and wwids can not be specified simultaneously"))
	switch {
	case len(s.TargetWWNs) == 0:
	case s.Lun == nil:
		f.Add(field.Required(path.Child("lun"), "lun is required if targetWWNs is specified"))
	default:
		f.Merge(lun(path, *s.Lun, s.Lun))
	}
	return f.Errs
}

func flexVolume(path *field.Path, driver string, options map[string]string) field.ErrorList {
	var f validation.Findings
	f.Merge(validation.Present(path, "driver", driver))
	for k := range validation.Sorted(options) {
		namespace, _, _ := strings.Cut("."+strings.ToLower(k), "/")
		f.AddIf(strings.HasSuffix(namespace, ".kubernetes.io") || strings.HasSuffix(namespace, ".k8s.io"),
			field.Invalid(path.Child("options").Key(k), k, "kubernetes.io and k8s.io namespaces are reserved"))
	}
	return f.Errs
}

func vsphereVolume(path *field.Path, s *corev1.VsphereVirtualDiskVolumeSource) field.ErrorList {
	return validation.Present(path, "volumePath", s.VolumePath)
}

func photonDisk(path *field.Path, s *corev1.PhotonPersistentDiskVolumeSource) field.ErrorList {
	return validation.Present(path, "pdID", s.PdID)
}

func portworxVolume(path *field.Path, s *corev1.PortworxVolumeSource) field.ErrorList {
	return validation.Present(path, "volumeID", s.VolumeID)
}

func azureDiskVolume(path *field.Path, s *corev1.AzureDiskVolumeSource) field.ErrorList {
	const (
		managedURI = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
		blobURI    = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
	)
	var f validation.Findings
	f.Merge(
		validation.Present(path, "diskName", s.DiskName, "diskURI", s.DataDiskURI),
		validation.OptionalOneOf(path.Child("cachingMode"), s.CachingMode, corev1.AzureDataDiskCachingNone,
			corev1.AzureDataDiskCachingReadOnly, corev1.AzureDataDiskCachingReadWrite),
		validation.OptionalOneOf(path.Child("kind"), s.Kind, corev1.AzureDedicatedBlobDisk, corev1.AzureManagedDisk, corev1.AzureSharedBlobDisk))
	if s.Kind == nil {
		return f.Errs
	}
	prefix, form := "https://", blobURI
	if *s.Kind == corev1.AzureManagedDisk {
		prefix, form = "/subscriptions/", managedURI
	}
	f.AddIf(!strings.HasPrefix(s.DataDiskURI, prefix), field.NotSupported(path.Child("diskURI"), s.DataDiskURI, []string{form}))
	return f.Errs
}

func storageOSNames(path *field.Path, name, namespace string) field.ErrorList {
	errs := validation.Required(utilvalidation.IsDNS1123Label, path.Child("volumeName"), name)
	if namespace != "" {
		errs = append(errs, validation.Follows(utilvalidation.IsDNS1123Label, path.Child("volumeNamespace"), namespace)...)
	}
	return errs
}

func csiVolume(path *field.Path, s *corev1.CSIVolumeSource) field.ErrorList {
	errs := CSIDriverName(path.Child("driver"), s.Driver)
	ref := ptr.Deref(s.NodePublishSecretRef, corev1.LocalObjectReference{})
	switch {
	case s.NodePublishSecretRef == nil:
	case ref.Name == "":
		errs = append(errs, field.Required(path.Child("nodePublishSecretRef", "name"), ""))
	default:
		errs = append(errs, validation.Follows(validation.ObjectName, path.Child("name"), ref.Name)...)
	}
	return errs
}

// maxCSIDriverName is the limit in the CSI specification.
const maxCSIDriverName = 63

// CSIDriverName checks the name of a CSI driver.
func CSIDriverName(path *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	var f validation.Findings
	f.AddIf(len(name) > maxCSIDriverName, field.TooLong(path, "", maxCSIDriverName).WithOrigin("maxLength"))
	for _, msg := range utilvalidation.IsDNS1123Subdomain(strings.ToLower(name)) {
		f.Add(field.Invalid(path, name, msg).WithOrigin("format=k8s-long-name-caseless"))
	}
	return f.Errs
}
