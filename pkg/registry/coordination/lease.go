package coordination

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// leaseKind is the row of leases in the server's table of kinds.
var leaseKind = registry.Kind{
	Resource:   "leases",
	Namespaced: true,
	Object:     &coordinationv1.Lease{}, List: &coordinationv1.LeaseList{},
	CreateOnUpdate:    true,
	ConditionalUpdate: true,
	Printer:           &leaseColumns,
	Hooks: registry.HooksOf[*coordinationv1.Lease]{
		Validate:       validateLease,
		ValidateUpdate: validateLeaseUpdate,
	},
	// Each of the two fields stays only if the stored lease has this field.
	Gated: []registry.Gate{
		registry.GateOf[coordinationv1.Lease](features.CoordinatedLeaderElection, "Spec.Strategy"),
		registry.GateOf[coordinationv1.Lease](features.CoordinatedLeaderElection, "Spec.PreferredHolder"),
	},
}

// validateLease checks a new lease. Unlike those of most kinds, its finalizers needn't have a domain.
func validateLease(o *coordinationv1.Lease) field.ErrorList {
	f := validation.Findings{Errs: apivalidation.ValidateObjectMeta(&o.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, validation.MetadataPath)}
	f.Merge(leaseSpec(&o.Spec))
	return f.Errs
}

func validateLeaseUpdate(o, old *coordinationv1.Lease) field.ErrorList {
	f := validation.Findings{Errs: apivalidation.ValidateObjectMetaUpdate(&o.ObjectMeta, &old.ObjectMeta, validation.MetadataPath)}
	f.Merge(leaseSpec(&o.Spec))
	return f.Errs
}

func leaseSpec(spec *coordinationv1.LeaseSpec) field.ErrorList {
	var f validation.Findings
	path := field.NewPath("spec")
	if s := spec.LeaseDurationSeconds; s != nil {
		f.AddIf(*s <= 0, field.Invalid(path.Child("leaseDurationSeconds"), *s, "must be greater than 0"))
	}
	if n := spec.LeaseTransitions; n != nil {
		f.AddIf(*n < 0, field.Invalid(path.Child("leaseTransitions"), *n, "must be greater than or equal to 0"))
	}
	if spec.Strategy != nil {
		f.Merge(leaseStrategy(path.Child("strategy"), *spec.Strategy))
	}
	f.AddIf(ptr.Deref(spec.PreferredHolder, "") != "" && ptr.Deref(spec.Strategy, "") == "",
		field.Forbidden(path.Child("preferredHolder"), "may only be specified if `strategy` is defined"))
	return f.Errs
}

// leaseColumns makes the rows of kubectl get. They show the holder.
var leaseColumns = printers.Of(
	[]printers.Column{printers.NameColumn, printers.Text("Holder", printers.Doc(coordinationv1.LeaseSpec{}, "holderIdentity")), printers.AgeColumn},
	func(l *coordinationv1.Lease) []any {
		return []any{l.Name, ptr.Deref(l.Spec.HolderIdentity, ""), printers.Since(l.CreationTimestamp)}
	})
