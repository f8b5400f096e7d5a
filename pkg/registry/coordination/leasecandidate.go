package coordination

import (
	semver "github.com/blang/semver/v4"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// leaseCandidateKind is the row of leasecandidates in the server's table of kinds.
var leaseCandidateKind = registry.Kind{
	Resource:   "leasecandidates",
	Namespaced: true,
	Object:     &coordinationv1beta1.LeaseCandidate{}, List: &coordinationv1beta1.LeaseCandidateList{},
	CreateOnUpdate:    true,
	ConditionalUpdate: true,
	Printer:           &leaseCandidateColumns,
	Hooks: registry.HooksOf[*coordinationv1beta1.LeaseCandidate]{
		Validate:       validateLeaseCandidate,
		ValidateUpdate: validateLeaseCandidateUpdate,
	},
}

// validateLeaseCandidate checks a new LeaseCandidate (KEP-4355).
func validateLeaseCandidate(o *coordinationv1beta1.LeaseCandidate) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(candidateSpec(&o.Spec))
	return f.Errs
}

// validateLeaseCandidateUpdate checks an update of a LeaseCandidate. The lease of a candidate can't change.
func validateLeaseCandidateUpdate(o, old *coordinationv1beta1.LeaseCandidate) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(candidateSpec(&o.Spec), validation.Unchanged(field.NewPath("spec", "leaseName"), o.Spec.LeaseName, old.Spec.LeaseName))
	return f.Errs
}

func candidateSpec(spec *coordinationv1beta1.LeaseCandidateSpec) field.ErrorList {
	var f validation.Findings
	path := field.NewPath("spec")
	f.Merge(validation.Required(validation.ObjectName, path.Child("leaseName"), spec.LeaseName))
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

// leaseCandidateColumns makes the rows of kubectl get. They show the lease and the versions.
var leaseCandidateColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("LeaseName", printers.Doc(coordinationv1beta1.LeaseCandidateSpec{}, "leaseName")),
		printers.Text("BinaryVersion", printers.Doc(coordinationv1beta1.LeaseCandidateSpec{}, "binaryVersion")),
		printers.Text("EmulationVersion", printers.Doc(coordinationv1beta1.LeaseCandidateSpec{}, "emulationVersion")),
		printers.AgeColumn,
	},
	func(c *coordinationv1beta1.LeaseCandidate) []any {
		return []any{c.Name, c.Spec.LeaseName, c.Spec.BinaryVersion, c.Spec.EmulationVersion, printers.Since(c.CreationTimestamp)}
	})
