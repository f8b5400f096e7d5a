package validation

import (
	"fmt"
	"slices"

	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CSIDriver checks a new driver (KEP-770).
func CSIDriver(o *storagev1.CSIDriver) field.ErrorList {
	f := Created(&o.ObjectMeta, ClusterScoped, apivalidation.NameIsDNSSubdomain)
	f.Merge(CSIDriverName(field.NewPath("name"), o.Name))
	spec := field.NewPath("spec")
	for _, flag := range []struct {
		name  string
		value *bool
	}{
		{"attachedRequired", o.Spec.AttachRequired},
		{"podInfoOnMount", o.Spec.PodInfoOnMount},
		{"storageCapacity", o.Spec.StorageCapacity},
	} {
		f.AddIf(flag.value == nil, field.Required(spec.Child(flag.name), ""))
	}
	f.AddIf(o.Spec.FSGroupPolicy == nil, field.Required(spec.Child("fsGroupPolicy"), ""))
	f.Merge(OptionalOneOf(spec.Child("fsGroupPolicy"), o.Spec.FSGroupPolicy, storagev1.FileFSGroupPolicy,
		storagev1.NoneFSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy))
	f.Merge(tokenRequests(spec.Child("tokenRequests"), o.Spec.TokenRequests))
	for _, mode := range o.Spec.VolumeLifecycleModes {
		f.Merge(OneOf(spec.Child("volumeLifecycleModes"), mode, storagev1.VolumeLifecycleEphemeral, storagev1.VolumeLifecyclePersistent))
	}
	f.AddIf(o.Spec.SELinuxMount == nil, field.Required(spec.Child("seLinuxMount"), ""))
	if period := o.Spec.NodeAllocatableUpdatePeriodSeconds; period != nil {
		f.AddIf(*period < 10, field.Invalid(spec.Child("nodeAllocatableUpdatePeriodSeconds"), *period,
			"must be greater than or equal to 10 seconds"))
	}
	return f.Errs
}

// CSIDriverUpdate checks a driver that replaces another.
func CSIDriverUpdate(o, old *storagev1.CSIDriver) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(CSIDriver(o))
	spec := field.NewPath("spec")
	f.Merge(Unchanged(spec.Child("attachedRequired"), o.Spec.AttachRequired, old.Spec.AttachRequired),
		Unchanged(spec.Child("volumeLifecycleModes"), o.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes))
	return f.Errs
}

func tokenRequests(path *field.Path, requests []storagev1.TokenRequest) field.ErrorList {
	var f Findings
	var audiences []string
	for i, r := range requests {
		path := path.Index(i)
		f.AddIf(slices.Contains(audiences, r.Audience), field.Duplicate(path.Child("audience"), r.Audience))
		audiences = append(audiences, r.Audience)
		if r.ExpirationSeconds != nil {
			f.Merge(TokenLifetime(path.Child("expirationSeconds"), *r.ExpirationSeconds))
		}
	}
	return f.Errs
}

const maxCSINodeID = 192

// CSINode checks a new node's drivers.
func CSINode(o *storagev1.CSINode) field.ErrorList {
	f := Created(&o.ObjectMeta, ClusterScoped, apivalidation.NameIsDNSSubdomain)
	drivers := field.NewPath("spec", "drivers")
	var names []string
	for i, d := range o.Spec.Drivers {
		path := drivers.Index(i)
		f.Merge(CSIDriverName(path.Child("name"), d.Name))
		f.AddIf(d.NodeID == "", field.Required(path.Child("nodeID"), ""))
		f.AddIf(len(d.NodeID) > maxCSINodeID, field.Invalid(path.Child("nodeID"), d.NodeID,
			fmt.Sprintf("must be %d characters or less", maxCSINodeID)))
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			f.Merge(Nonnegative(path.Child("allocatable", "count"), *d.Allocatable.Count))
		}
		f.AddIf(slices.Contains(names, d.Name), field.Duplicate(path.Child("name"), d.Name))
		names = append(names, d.Name)
		for j, key := range d.TopologyKeys {
			f.AddIf(slices.Contains(d.TopologyKeys[:j], key), field.Duplicate(path.Child("topologyKeys"), key))
			f.Merge(Qualified(path.Child("topologyKeys"), key))
		}
	}
	return f.Errs
}

// CSINodeUpdate checks a node's drivers that replace others: drivers come and go, but a
// driver changes nothing but how many volumes it takes.
func CSINodeUpdate(o, old *storagev1.CSINode) field.ErrorList {
	f := Findings{CSINode(o)}
	for _, was := range old.Spec.Drivers {
		for _, now := range o.Spec.Drivers {
			if now.Name != was.Name {
				continue
			}
			was.Allocatable, now.Allocatable = nil, nil
			f.AddIf(!apiequality.Semantic.DeepEqual(was, now), field.Invalid(field.NewPath("CSINodeDriver"), Unversioned(now), "field is immutable"))
		}
	}
	return f.Errs
}
