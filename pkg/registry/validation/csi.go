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
	f := created(&o.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain)
	f.merge(csiDriverName(field.NewPath("name"), o.Name))
	spec := field.NewPath("spec")
	for _, flag := range []struct {
		name  string
		value *bool
	}{
		{"attachedRequired", o.Spec.AttachRequired},
		{"podInfoOnMount", o.Spec.PodInfoOnMount},
		{"storageCapacity", o.Spec.StorageCapacity},
	} {
		f.addIf(flag.value == nil, field.Required(spec.Child(flag.name), ""))
	}
	f.addIf(o.Spec.FSGroupPolicy == nil, field.Required(spec.Child("fsGroupPolicy"), ""))
	f.merge(optionalOneOf(spec.Child("fsGroupPolicy"), o.Spec.FSGroupPolicy, storagev1.FileFSGroupPolicy,
		storagev1.NoneFSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy))
	f.merge(tokenRequests(spec.Child("tokenRequests"), o.Spec.TokenRequests))
	for _, mode := range o.Spec.VolumeLifecycleModes {
		f.merge(oneOf(spec.Child("volumeLifecycleModes"), mode, storagev1.VolumeLifecycleEphemeral, storagev1.VolumeLifecyclePersistent))
	}
	f.addIf(o.Spec.SELinuxMount == nil, field.Required(spec.Child("seLinuxMount"), ""))
	if period := o.Spec.NodeAllocatableUpdatePeriodSeconds; period != nil {
		f.addIf(*period < 10, field.Invalid(spec.Child("nodeAllocatableUpdatePeriodSeconds"), *period,
			"must be greater than or equal to 10 seconds"))
	}
	return f.errs
}

// CSIDriverUpdate checks a driver that replaces another.
func CSIDriverUpdate(o, old *storagev1.CSIDriver) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	f.merge(CSIDriver(o))
	spec := field.NewPath("spec")
	f.merge(unchanged(spec.Child("attachedRequired"), o.Spec.AttachRequired, old.Spec.AttachRequired),
		unchanged(spec.Child("volumeLifecycleModes"), o.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes))
	return f.errs
}

func tokenRequests(path *field.Path, requests []storagev1.TokenRequest) field.ErrorList {
	var f findings
	var audiences []string
	for i, r := range requests {
		path := path.Index(i)
		f.addIf(slices.Contains(audiences, r.Audience), field.Duplicate(path.Child("audience"), r.Audience))
		audiences = append(audiences, r.Audience)
		if r.ExpirationSeconds != nil {
			f.merge(tokenLifetime(path.Child("expirationSeconds"), *r.ExpirationSeconds))
		}
	}
	return f.errs
}

const maxCSINodeID = 192

// CSINode checks a new node's drivers.
func CSINode(o *storagev1.CSINode) field.ErrorList {
	f := created(&o.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain)
	drivers := field.NewPath("spec", "drivers")
	var names []string
	for i, d := range o.Spec.Drivers {
		path := drivers.Index(i)
		f.merge(csiDriverName(path.Child("name"), d.Name))
		f.addIf(d.NodeID == "", field.Required(path.Child("nodeID"), ""))
		f.addIf(len(d.NodeID) > maxCSINodeID, field.Invalid(path.Child("nodeID"), d.NodeID,
			fmt.Sprintf("must be %d characters or less", maxCSINodeID)))
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			f.merge(nonnegative(path.Child("allocatable", "count"), *d.Allocatable.Count))
		}
		f.addIf(slices.Contains(names, d.Name), field.Duplicate(path.Child("name"), d.Name))
		names = append(names, d.Name)
		for j, key := range d.TopologyKeys {
			f.addIf(slices.Contains(d.TopologyKeys[:j], key), field.Duplicate(path.Child("topologyKeys"), key))
			f.merge(qualified(path.Child("topologyKeys"), key))
		}
	}
	return f.errs
}

// CSINodeUpdate checks a node's drivers that replace others: drivers come and go, but a
// driver changes nothing but how many volumes it takes.
func CSINodeUpdate(o, old *storagev1.CSINode) field.ErrorList {
	f := findings{CSINode(o)}
	for _, was := range old.Spec.Drivers {
		for _, now := range o.Spec.Drivers {
			if now.Name != was.Name {
				continue
			}
			was.Allocatable, now.Allocatable = nil, nil
			f.addIf(!apiequality.Semantic.DeepEqual(was, now), field.Invalid(field.NewPath("CSINodeDriver"), unversioned(now), "field is immutable"))
		}
	}
	return f.errs
}
