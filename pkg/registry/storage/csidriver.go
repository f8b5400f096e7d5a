package storage

import (
	"cmp"
	"context"
	"slices"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// csiDriverKind is the row of csidrivers in the server's table of kinds.
var csiDriverKind = registry.Kind{
	Resource: "csidrivers",
	Object:   &storagev1.CSIDriver{}, List: &storagev1.CSIDriverList{},
	Defaults: []registry.Default{registry.DefaultOf(defaultCSIDriver),
		registry.DefaultLike[storagev1beta1.CSIDriver](defaultCSIDriver)},
	ReturnDeleted:     true,
	ConditionalUpdate: true,
	Printer:           &csiDriverColumns,
	Hooks: registry.HooksOf[*storagev1.CSIDriver]{
		PrepareForUpdate: countDriverChanges,
		Validate:         validateCSIDriver,
		ValidateUpdate:   validateCSIDriverUpdate,
		Warnings:         csiDriverWarnings,
	},
	Gated: []registry.Gate{
		registry.GateOf[storagev1.CSIDriver]("MutableCSINodeAllocatableCount", "Spec.NodeAllocatableUpdatePeriodSeconds"),
		registry.GateOf[storagev1.CSIDriver]("CSIServiceAccountTokenSecrets", "Spec.ServiceAccountTokenInSecrets"),
		registry.GateOf[storagev1.CSIDriver]("SELinuxMountReadWriteOncePod", "Spec.SELinuxMount"),
		registry.GateOf[storagev1.CSIDriver]("VolumeLimitScaling", "Spec.PreventPodSchedulingIfMissing"),
	},
}

func defaultCSIDriver(d *storagev1.CSIDriver) {
	defaults.Pointer(&d.Spec.AttachRequired, true)
	defaults.Pointer(&d.Spec.PodInfoOnMount, false)
	defaults.Pointer(&d.Spec.StorageCapacity, false)
	defaults.Pointer(&d.Spec.RequiresRepublish, false)
	defaults.Pointer(&d.Spec.SELinuxMount, false)
	if defaults.Since(defaults.Kubernetes137) {
		defaults.Pointer(&d.Spec.PreventPodSchedulingIfMissing, false)
	}
	defaults.Pointer(&d.Spec.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	if len(d.Spec.VolumeLifecycleModes) == 0 {
		d.Spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
}

// validateCSIDriver checks a new CSIDriver (KEP-770).
func validateCSIDriver(o *storagev1.CSIDriver) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSSubdomain)
	f.Merge(driverSpec(&o.Spec))
	return f.Errs
}

func driverSpec(s *storagev1.CSIDriverSpec) field.ErrorList {
	var f validation.Findings
	spec := field.NewPath("spec")
	for _, flag := range []struct {
		name  string
		value *bool
	}{
		{"attachedRequired", s.AttachRequired},
		{"podInfoOnMount", s.PodInfoOnMount},
		{"storageCapacity", s.StorageCapacity},
	} {
		f.AddIf(flag.value == nil, field.Required(spec.Child(flag.name), ""))
	}
	f.Merge(validation.OptionalOneOf(spec.Child("fsGroupPolicy"), s.FSGroupPolicy, storagev1.FileFSGroupPolicy,
		storagev1.NoneFSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy))
	f.Merge(tokenRequests(spec.Child("tokenRequests"), s.TokenRequests))
	for _, mode := range s.VolumeLifecycleModes {
		f.Merge(validation.OneOf(spec.Child("volumeLifecycleModes"), mode, storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral))
	}
	f.AddIf(s.SELinuxMount == nil, field.Required(spec.Child("seLinuxMount"), ""))
	if period := s.NodeAllocatableUpdatePeriodSeconds; period != nil {
		f.AddIf(*period < 10, field.Invalid(spec.Child("nodeAllocatableUpdatePeriodSeconds"), *period,
			"must be greater than or equal to 10 seconds"))
	}
	f.AddIf(s.ServiceAccountTokenInSecrets != nil && len(s.TokenRequests) == 0, field.Invalid(spec.Child("serviceAccountTokenInSecrets"),
		s.ServiceAccountTokenInSecrets, "serviceAccountTokenInSecrets is set but no tokenRequests are specified"))
	return f.Errs
}

func validateCSIDriverUpdate(o, old *storagev1.CSIDriver) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(driverSpec(&o.Spec))
	spec := field.NewPath("spec")
	f.Merge(validation.Unchanged(spec.Child("attachedRequired"), o.Spec.AttachRequired, old.Spec.AttachRequired),
		validation.Unchanged(spec.Child("volumeLifecycleModes"), o.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes))
	return f.Errs
}

func tokenRequests(path *field.Path, requests []storagev1.TokenRequest) field.ErrorList {
	var f validation.Findings
	var audiences []string
	for i, r := range requests {
		path := path.Index(i)
		if slices.Contains(audiences, r.Audience) {
			f.Add(field.Duplicate(path.Child("audience"), r.Audience))
			continue
		}
		audiences = append(audiences, r.Audience)
		if r.ExpirationSeconds != nil {
			f.Merge(validation.TokenLifetime(path.Child("expirationSeconds"), *r.ExpirationSeconds))
		}
	}
	return f.Errs
}

// countDriverChanges increments the generation of a CSIDriver if the update changes the spec. The server doesn't set
// the generation of a new CSIDriver.
func countDriverChanges(_ context.Context, d, old *storagev1.CSIDriver) {
	if !apiequality.Semantic.DeepEqual(d.Spec, old.Spec) {
		d.Generation = old.Generation + 1
	}
}

var csiDriverColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Boolean("AttachRequired", printers.Doc(storagev1.CSIDriverSpec{}, "attachRequired")),
		printers.Boolean("PodInfoOnMount", printers.Doc(storagev1.CSIDriverSpec{}, "podInfoOnMount")),
		printers.Boolean("StorageCapacity", printers.Doc(storagev1.CSIDriverSpec{}, "storageCapacity")),
		printers.Text("TokenRequests", printers.Doc(storagev1.CSIDriverSpec{}, "tokenRequests")),
		printers.Boolean("RequiresRepublish", printers.Doc(storagev1.CSIDriverSpec{}, "requiresRepublish")),
		printers.Text("Modes", printers.Doc(storagev1.CSIDriverSpec{}, "volumeLifecycleModes")),
		printers.AgeColumn,
	},
	func(d *storagev1.CSIDriver) []any {
		audiences := printers.Unset
		if d.Spec.TokenRequests != nil {
			audiences = printers.Joined(d.Spec.TokenRequests, func(r *storagev1.TokenRequest) string { return r.Audience })
		}
		var modes []string
		for _, mode := range d.Spec.VolumeLifecycleModes {
			modes = append(modes, string(mode))
		}
		return []any{
			d.Name, ptr.Deref(d.Spec.AttachRequired, true), ptr.Deref(d.Spec.PodInfoOnMount, false),
			ptr.Deref(d.Spec.StorageCapacity, false), audiences, ptr.Deref(d.Spec.RequiresRepublish, false),
			cmp.Or(strings.Join(modes, ","), printers.None), printers.Since(d.CreationTimestamp),
		}
	})

// csiDriverWarnings warns of a CSIDriver that has new or changed token requests, and doesn't set
// serviceAccountTokenInSecrets.
func csiDriverWarnings(_ context.Context, d, old *storagev1.CSIDriver) []string {
	if len(d.Spec.TokenRequests) == 0 || d.Spec.ServiceAccountTokenInSecrets != nil {
		return nil
	}
	if old != nil && apiequality.Semantic.DeepEqual(d.Spec.TokenRequests, old.Spec.TokenRequests) {
		return nil
	}
	return []string{"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, " +
		"set to true to prevent possible logging of tokens in volume attributes"}
}
