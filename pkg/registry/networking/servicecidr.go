package networking

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-base/featuregate"
	utilsnet "k8s.io/utils/net"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// serviceCIDRKind is the row of servicecidrs in the server's table of kinds.
var serviceCIDRKind = registry.Kind{
	Resource: "servicecidrs",
	Object:   &networkingv1.ServiceCIDR{}, List: &networkingv1.ServiceCIDRList{},
	Status:              true,
	StatusKeepsMetadata: true,
	Without: map[featuregate.Feature]func(*registry.Kind){
		"ServiceCIDRStatusFieldWiping": func(k *registry.Kind) { k.StatusOnCreate, k.StatusOnUpdate = true, true },
	},
	Printer: &serviceCIDRColumns,
	Hooks: registry.HooksOf[*networkingv1.ServiceCIDR]{
		Validate:       validateServiceCIDR,
		ValidateUpdate: validateServiceCIDRUpdate,
	},
}

// validateServiceCIDR checks a new ServiceCIDR, which is a range of service addresses (KEP-1880).
func validateServiceCIDR(o *networkingv1.ServiceCIDR) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSSubdomain)
	f.Merge(serviceCIDRs(&o.Spec))
	return f.Errs
}

// validateServiceCIDRUpdate checks an update of a ServiceCIDR. The update may add a range of a second IP family.
func validateServiceCIDRUpdate(o, old *networkingv1.ServiceCIDR) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("spec", "cidrs")
	now, was := o.Spec.CIDRs, old.Spec.CIDRs
	grows := len(was) == 1 && len(now) == 2
	if len(now) != len(was) && !grows {
		f.Add(field.Invalid(path, now, apivalidation.FieldImmutableErrorMsg))
		return f.Errs
	}
	for i := range was {
		f.Merge(validation.Unchanged(path.Index(i), now[i], was[i]))
	}
	if grows {
		f.Merge(serviceCIDRs(&o.Spec))
	}
	return f.Errs
}

func serviceCIDRs(spec *networkingv1.ServiceCIDRSpec) field.ErrorList {
	path := field.NewPath("spec", "cidrs")
	switch n := len(spec.CIDRs); {
	case n == 0:
		return field.ErrorList{field.Required(path, "at least one CIDR required")}
	case n > 2:
		return field.ErrorList{field.Invalid(path, validation.Unversioned(spec), "may only hold up to 2 values")}
	}
	var f validation.Findings
	for i, cidr := range spec.CIDRs {
		f.Merge(utilvalidation.IsValidCIDR(path.Index(i), cidr))
	}
	if len(spec.CIDRs) == 2 {
		family := utilsnet.IPFamilyOfCIDRString(spec.CIDRs[0])
		f.AddIf(family != utilsnet.IPFamilyUnknown && family == utilsnet.IPFamilyOfCIDRString(spec.CIDRs[1]), field.Invalid(path,
			spec.CIDRs, "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"))
	}
	return f.Errs
}

var serviceCIDRColumns = printers.Of(
	[]printers.Column{printers.NameColumn, printers.Text("CIDRs", printers.Doc(networkingv1.ServiceCIDRSpec{}, "cidrs")), printers.AgeColumn},
	func(c *networkingv1.ServiceCIDR) []any {
		return []any{c.Name, strings.Join(c.Spec.CIDRs, ","), printers.Since(c.CreationTimestamp)}
	})
