package coordination

import (
	semver "github.com/blang/semver/v4"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
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

// validateLeaseCandidate checks a new LeaseCandidate (KEP-4355). Its name may be the name of a process, such as
// Host_1. As with leases, its finalizers needn't have a domain.
func validateLeaseCandidate(o *coordinationv1beta1.LeaseCandidate) field.ErrorList {
	name := func(name string, _ bool) []string { return utilvalidation.IsConfigMapKey(name) }
	f := validation.Findings{Errs: apivalidation.ValidateObjectMeta(&o.ObjectMeta, true, name, validation.MetadataPath)}
	f.Merge(candidateSpec(&o.Spec))
	return f.Errs
}

// validateLeaseCandidateUpdate checks an update of a LeaseCandidate. The lease of a candidate can't change.
func validateLeaseCandidateUpdate(o, old *coordinationv1beta1.LeaseCandidate) field.ErrorList {
	f := validation.Findings{Errs: apivalidation.ValidateObjectMetaUpdate(&o.ObjectMeta, &old.ObjectMeta, validation.MetadataPath)}
	f.Merge(candidateSpec(&o.Spec), validation.Unchanged(field.NewPath("spec", "leaseName"), o.Spec.LeaseName, old.Spec.LeaseName))
	return f.Errs
}

func candidateSpec(spec *coordinationv1beta1.LeaseCandidateSpec) field.ErrorList {
	var f validation.Findings
	path := field.NewPath("spec")
	f.AddIf(spec.LeaseName == "", field.Required(path.Child("leaseName"), ""))
	// As in kube-apiserver, a version that is missing or invalid counts as 0.0.0 in the comparisons.
	emulation, err := semver.Parse(spec.EmulationVersion)
	const noVersion = "must be a valid semantic version"
	f.AddIf(spec.EmulationVersion != "" && err != nil, field.Invalid(path.Child("emulationVersion"), spec.EmulationVersion, noVersion))
	binaryPath := path.Child("binaryVersion")
	f.AddIf(spec.BinaryVersion == "", field.Required(binaryPath, ""))
	binary, err := semver.Parse(spec.BinaryVersion)
	f.AddIf(spec.BinaryVersion != "" && err != nil, field.Invalid(binaryPath, spec.BinaryVersion, noVersion))
	f.AddIf(spec.BinaryVersion != "" && binary.LT(emulation),
		field.Invalid(binaryPath, spec.BinaryVersion, "must be greater than or equal to `emulationVersion`"))
	if spec.Strategy == "" {
		f.Add(field.Required(path.Child("strategy"), ""))
		return f.Errs
	}
	f.AddIf(spec.Strategy == coordinationv1.OldestEmulationVersion && emulation.EQ(semver.Version{}),
		field.Required(path.Child("emulationVersion"), "must be specified when `strategy` is 'OldestEmulationVersion'"))
	f.Merge(leaseStrategy(path.Child("strategy"), spec.Strategy))
	return f.Errs
}

// leaseCandidateColumns makes the rows of kubectl get. They show the lease and the versions.
var leaseCandidateColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("LeaseName", printers.Doc(coordinationv1beta1.LeaseCandidateSpec{}, "leaseName")),
		printers.Text("BinaryVersion", ""),
		printers.Text("EmulationVersion", ""),
		printers.AgeColumn,
	},
	func(c *coordinationv1beta1.LeaseCandidate) []any {
		return []any{c.Name, c.Spec.LeaseName, c.Spec.BinaryVersion, c.Spec.EmulationVersion, printers.Since(c.CreationTimestamp)}
	})
