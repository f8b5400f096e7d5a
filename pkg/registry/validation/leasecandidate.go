package validation

import (
	"github.com/blang/semver/v4"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// LeaseCandidate checks a new candidate for a lease (KEP-4355).
func LeaseCandidate(o *coordinationv1beta1.LeaseCandidate) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(candidateSpec(&o.Spec))
	return f.Errs
}

// LeaseCandidateUpdate checks a candidate that replaces another: it contends for the same
// lease.
func LeaseCandidateUpdate(o, old *coordinationv1beta1.LeaseCandidate) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(candidateSpec(&o.Spec), Unchanged(field.NewPath("spec", "leaseName"), o.Spec.LeaseName, old.Spec.LeaseName))
	return f.Errs
}

func candidateSpec(spec *coordinationv1beta1.LeaseCandidateSpec) field.ErrorList {
	var f Findings
	path := field.NewPath("spec")
	f.Merge(Required(Named(apivalidation.NameIsDNSSubdomain), path.Child("leaseName"), spec.LeaseName))
	emulation, err := semver.Parse(spec.EmulationVersion)
	emulated := err == nil
	const noVersion = "must be a valid semantic version"
	f.AddIf(spec.EmulationVersion != "" && err != nil, field.Invalid(path.Child("emulationVersion"), spec.EmulationVersion, noVersion))
	binary, err := semver.Parse(spec.BinaryVersion)
	switch own := path.Child("binaryVersion"); {
	case spec.BinaryVersion == "":
		f.Add(field.Required(own, ""))
	case err != nil:
		f.Add(field.Invalid(own, spec.BinaryVersion, noVersion))
	case emulated && binary.LT(emulation):
		f.Add(field.Invalid(own, spec.BinaryVersion, "must be greater than or equal to `emulationVersion`"))
	}
	if spec.Strategy == "" {
		f.Add(field.Required(path.Child("strategy"), ""))
		return f.Errs
	}
	f.Merge(leaseStrategy(path.Child("strategy"), spec.Strategy))
	f.AddIf(spec.Strategy == coordinationv1.OldestEmulationVersion && spec.EmulationVersion == "",
		field.Required(path.Child("emulationVersion"), "must be specified when `strategy` is 'OldestEmulationVersion'"))
	return f.Errs
}
