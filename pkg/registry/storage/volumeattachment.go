package storage

import (
	"math"

	storagev1 "k8s.io/api/storage/v1"
	storagev1alpha1 "k8s.io/api/storage/v1alpha1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// volumeAttachmentKind is the row of volumeattachments in the server's table of kinds.
var volumeAttachmentKind = registry.Kind{
	Resource: "volumeattachments",
	Object:   &storagev1.VolumeAttachment{}, List: &storagev1.VolumeAttachmentList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultVolumeAttachment),
		registry.DefaultLike[storagev1beta1.VolumeAttachment](defaultVolumeAttachment),
		registry.DefaultLike[storagev1alpha1.VolumeAttachment](defaultVolumeAttachment),
	},
	Status:              true,
	StatusKeepsMetadata: true,
	ReturnDeleted:       true,
	ConditionalUpdate:   true,
	Printer:             &volumeAttachmentColumns,
	Hooks: registry.HooksOf[*storagev1.VolumeAttachment]{
		Validate:       validateVolumeAttachment,
		ValidateUpdate: validateVolumeAttachmentUpdate,
		// The status endpoint checks an update in the same way as the main endpoint.
		ValidateStatusUpdate: validateVolumeAttachmentUpdate,
	},
	Gated: []registry.Gate{registry.GateOf[storagev1.VolumeAttachment]("MutableCSINodeAllocatableCount",
		"Status.AttachError.ErrorCode", "Status.DetachError.ErrorCode")},
}

func defaultVolumeAttachment(a *storagev1.VolumeAttachment) {
	if spec := a.Spec.Source.InlineVolumeSpec; spec != nil {
		defaults.VolumeSpec(spec)
	}
}

func validateVolumeAttachment(o *storagev1.VolumeAttachment) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSSubdomain)
	spec := field.NewPath("spec")
	f.Merge(podvalidation.CSIDriverName(spec.Child("attacher"), o.Spec.Attacher).MarkCoveredByDeclarative())
	f.Merge(attachmentSource(&o.Spec.Source, spec.Child("source")))
	f.Merge(validation.Follows(validation.ObjectName, spec.Child("nodeName"), o.Spec.NodeName))
	status := field.NewPath("status")
	f.AddIf(metadataSize(o.Status.AttachmentMetadata) > maxAttachedMetadata, field.TooLong(status.Child("attachmentMetadata"), "", maxAttachedMetadata))
	f.Merge(volumeError(status.Child("attachError"), o.Status.AttachError), volumeError(status.Child("detachError"), o.Status.DetachError))
	if name := o.Spec.Source.PersistentVolumeName; name != nil {
		f.Merge(validation.Follows(validation.ObjectName, spec.Child("source", "persistentVolumeName"), *name))
	}
	return f.Errs
}

func validateVolumeAttachmentUpdate(o, _ *storagev1.VolumeAttachment) field.ErrorList {
	return validateVolumeAttachment(o)
}

// attachmentSource checks the source of an attachment, except for the form of persistentVolumeName.
func attachmentSource(s *storagev1.VolumeAttachmentSource, path *field.Path) field.ErrorList {
	switch {
	case s.InlineVolumeSpec == nil && s.PersistentVolumeName == nil:
		return field.ErrorList{field.Required(path, "must specify exactly one of inlineVolumeSpec and persistentVolumeName")}
	case s.InlineVolumeSpec != nil && s.PersistentVolumeName != nil:
		return field.ErrorList{field.Forbidden(path, "must specify exactly one of inlineVolumeSpec and persistentVolumeName")}
	case s.InlineVolumeSpec != nil:
		return podvalidation.PersistentVolumeSpec(path.Child("inlineVolumeSpec"), s.InlineVolumeSpec, "", true)
	case *s.PersistentVolumeName == "":
		return field.ErrorList{field.Required(path.Child("persistentVolumeName"), "must specify non empty persistentVolumeName")}
	}
	return nil
}

// The limits of the status, which a driver writes.
const (
	maxAttachedMetadata   = 256 * 1024
	maxVolumeErrorMessage = 1024
)

func metadataSize(metadata map[string]string) int {
	size := 0
	for k, v := range metadata {
		size += len(k) + len(v)
	}
	return size
}

func volumeError(path *field.Path, e *storagev1.VolumeError) field.ErrorList {
	if e == nil {
		return nil
	}
	var f validation.Findings
	f.AddIf(len(e.Message) > maxVolumeErrorMessage, field.TooLong(path.Child("message"), "", maxAttachedMetadata))
	if code := e.ErrorCode; code != nil {
		f.AddIf(*code < 0, field.Invalid(path.Child("errorCode"), *code, utilvalidation.InclusiveRangeError(0, math.MaxInt32)))
	}
	return f.Errs
}

var volumeAttachmentColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		{Name: "Attacher", Type: "string", Format: "name", Description: printers.Doc(storagev1.VolumeAttachmentSpec{}, "attacher")},
		printers.Text("PV", printers.Doc(storagev1.VolumeAttachmentSource{}, "persistentVolumeName")),
		printers.Text("Node", printers.Doc(storagev1.VolumeAttachmentSpec{}, "nodeName")),
		printers.Boolean("Attached", printers.Doc(storagev1.VolumeAttachmentStatus{}, "attached")),
		printers.AgeColumn,
	},
	func(a *storagev1.VolumeAttachment) []any {
		return []any{
			a.Name, a.Spec.Attacher, ptr.Deref(a.Spec.Source.PersistentVolumeName, ""), a.Spec.NodeName,
			a.Status.Attached, printers.Since(a.CreationTimestamp),
		}
	})
