package networking

import (
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// ingressClassKind is the row of ingressclasses in the server's table of kinds.
var ingressClassKind = registry.Kind{
	Resource: "ingressclasses",
	Object:   &networkingv1.IngressClass{}, List: &networkingv1.IngressClassList{},
	Defaults: []registry.Default{registry.DefaultOf(defaultIngressClass),
		registry.DefaultLike[networkingv1beta1.IngressClass](defaultIngressClass)},
	Generation: true,
	Printer:    &ingressClassColumns,
	Hooks: registry.HooksOf[*networkingv1.IngressClass]{
		Validate:       validateIngressClass,
		ValidateUpdate: validateIngressClassUpdate,
	},
}

func defaultIngressClass(c *networkingv1.IngressClass) {
	if p := c.Spec.Parameters; p != nil {
		defaults.Pointer(&p.Scope, networkingv1.IngressClassParametersReferenceScopeCluster)
	}
}

const maxIngressController = 250

func validateIngressClass(o *networkingv1.IngressClass) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSSubdomain)
	path := field.NewPath("spec", "controller")
	if controller := o.Spec.Controller; controller == "" {
		f.Add(field.Required(path, ""))
	} else {
		f.AddIf(len(controller) > maxIngressController, field.TooLong(path, "", maxIngressController))
		f.Merge(utilvalidation.IsDomainPrefixedPath(path, controller))
	}
	if p := o.Spec.Parameters; p != nil {
		f.Merge(ingressParameters(field.NewPath("spec", "parameters"), p))
	}
	return f.Errs
}

// validateIngressClassUpdate checks an update of an IngressClass. The controller can't change.
func validateIngressClassUpdate(o, old *networkingv1.IngressClass) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(validation.Unchanged(field.NewPath("spec", "controller"), o.Spec.Controller, old.Spec.Controller), validateIngressClass(o))
	return f.Errs
}

func ingressParameters(path *field.Path, p *networkingv1.IngressClassParametersReference) field.ErrorList {
	var f validation.Findings
	if p.APIGroup != nil {
		f.Merge(validation.Follows(utilvalidation.IsDNS1123Subdomain, path.Child("apiGroup"), *p.APIGroup))
	}
	f.Merge(validation.Follows(content.IsPathSegmentName, path.Child("kind"), p.Kind),
		validation.Follows(content.IsPathSegmentName, path.Child("name"), p.Name))
	namespace := path.Child("namespace")
	scope := ptr.Deref(p.Scope, "")
	f.AddIf(p.Scope == nil, field.Required(path.Child("scope"), ""))
	f.Merge(validation.OptionalOneOf(path.Child("scope"), p.Scope, networkingv1.IngressClassParametersReferenceScopeCluster,
		networkingv1.IngressClassParametersReferenceScopeNamespace))
	switch {
	case scope == networkingv1.IngressClassParametersReferenceScopeNamespace && p.Namespace == nil:
		f.Add(field.Required(namespace, "`parameters.scope` is set to 'Namespace'"))
	case scope == networkingv1.IngressClassParametersReferenceScopeNamespace:
		f.Merge(validation.Follows(validation.Named(apivalidation.ValidateNamespaceName), namespace, *p.Namespace))
	case scope == networkingv1.IngressClassParametersReferenceScopeCluster && p.Namespace != nil:
		f.Add(field.Forbidden(namespace, "`parameters.scope` is set to 'Cluster'"))
	}
	return f.Errs
}

var ingressClassColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Controller", "Controller that is responsible for handling this class"),
		printers.Text("Parameters", "A reference to a resource with additional parameters"),
		printers.AgeColumn,
	},
	func(c *networkingv1.IngressClass) []any {
		parameters := printers.None
		if p := c.Spec.Parameters; p != nil {
			parameters = p.Kind
			if p.APIGroup != nil {
				parameters += "." + *p.APIGroup
			}
			parameters += "/" + p.Name
		}
		name := c.Name
		if c.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
			name += " (default)"
		}
		return []any{name, c.Spec.Controller, parameters, printers.Since(c.CreationTimestamp)}
	})
