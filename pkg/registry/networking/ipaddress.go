package networking

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// ipAddressKind is the row of ipaddresses in the server's table of kinds.
var ipAddressKind = registry.Kind{
	Resource:   "ipaddresses",
	ShortNames: []string{"ip"},
	Object:     &networkingv1.IPAddress{}, List: &networkingv1.IPAddressList{},
	Printer: &ipAddressColumns,
	Storage: newIPAddressStorage,
	Hooks: registry.HooksOf[*networkingv1.IPAddress]{
		Validate:       validateIPAddress,
		ValidateUpdate: validateIPAddressUpdate,
	},
}

// validateIPAddress checks a new IPAddress. Its name is the address (KEP-1880).
func validateIPAddress(o *networkingv1.IPAddress) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, func(name string, _ bool) []string {
		var msgs []string
		for _, err := range utilvalidation.IsValidIP(nil, name) {
			msgs = append(msgs, err.Detail)
		}
		return msgs
	})
	path := field.NewPath("spec", "parentRef")
	ref := o.Spec.ParentRef
	if ref == nil {
		return f.Errs
	}
	f.Merge(validation.Present(path, "resource", ref.Resource, "name", ref.Name).MarkCoveredByDeclarative(),
		validation.Optional(utilvalidation.IsDNS1123Subdomain, path.Child("group"), ref.Group),
		validation.Follows(content.IsPathSegmentName, path.Child("resource"), ref.Resource),
		validation.Follows(content.IsPathSegmentName, path.Child("name"), ref.Name),
		validation.Follows(content.IsPathSegmentName, path.Child("namespace"), ref.Namespace))
	return f.Errs
}

func validateIPAddressUpdate(o, old *networkingv1.IPAddress) field.ErrorList {
	return append(validateIPAddress(o), validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs...)
}

// newIPAddressStorage makes the generateName of an IPAddress its name, because an address with a suffix is no address.
func newIPAddressStorage(main *registry.Storage, _ registry.Dependencies) (rest.Storage, error) {
	main.Strategy.NameGenerator = noSuffix{}
	main.CreateStrategy = main.Strategy
	return main, nil
}

// noSuffix generates names without a random suffix.
type noSuffix struct{}

// GenerateName implements names.NameGenerator.
func (noSuffix) GenerateName(base string) string { return base }

// ipAddressColumns makes the rows of kubectl get. A row has one cell more than there are columns, so the age isn't
// shown. kube-apiserver has the same mismatch.
var ipAddressColumns = printers.Of(
	[]printers.Column{printers.NameColumn, printers.Text("ParentRef", printers.Doc(networkingv1.IPAddressSpec{}, "parentRef"))},
	func(a *networkingv1.IPAddress) []any {
		parent := printers.None
		if ref := a.Spec.ParentRef; ref != nil {
			resource := schema.GroupResource{Group: ref.Group, Resource: ref.Resource}
			parent = strings.ToLower(resource.String())
			if ref.Namespace != "" {
				parent += "/" + ref.Namespace
			}
			parent += "/" + ref.Name
		}
		return []any{a.Name, parent, printers.Since(a.CreationTimestamp)}
	})
