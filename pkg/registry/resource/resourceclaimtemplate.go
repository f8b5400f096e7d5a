package resource

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// resourceClaimTemplateKind is the row of resourceclaimtemplates in the server's table of kinds.
var resourceClaimTemplateKind = registry.Kind{
	Resource:   "resourceclaimtemplates",
	Namespaced: true,
	Object:     &resourcev1.ResourceClaimTemplate{}, List: &resourcev1.ResourceClaimTemplateList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultResourceClaimTemplate),
		registry.DefaultLike[resourcev1beta2.ResourceClaimTemplate](defaultResourceClaimTemplate),
		registry.DefaultOf(defaultResourceClaimTemplateV1beta1),
	},
	ReturnDeleted: true,
	Printer:       &resourceClaimTemplateColumns,
	Hooks: registry.HooksOf[*resourcev1.ResourceClaimTemplate]{
		Validate:       validateResourceClaimTemplate,
		ValidateUpdate: validateResourceClaimTemplateUpdate,
		Authorize:      authorizeClaimTemplate,
		AuthorizeFirst: true,
	},
	Gated: claimGates[resourcev1.ResourceClaimTemplate]("Spec.Spec"),
}

func defaultResourceClaimTemplate(t *resourcev1.ResourceClaimTemplate) {
	deviceClaim(&t.Spec.Spec.Devices)
}

func defaultResourceClaimTemplateV1beta1(t *resourcev1beta1.ResourceClaimTemplate) {
	deviceClaimV1beta1(&t.Spec.Spec.Devices)
}

func validateResourceClaimTemplate(o *resourcev1.ResourceClaimTemplate) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	spec := field.NewPath("spec")
	f.Merge(podvalidation.ClaimTemplateMeta(spec.Child("metadata"), &o.Spec.ObjectMeta), claimSpec(spec.Child("spec"), &o.Spec.Spec))
	return f.Errs
}

// validateResourceClaimTemplateUpdate checks an update of a ResourceClaimTemplate. The spec can't change. As in
// kube-apiserver, a spec that is changed is also checked as a new one is.
func validateResourceClaimTemplateUpdate(o, old *resourcev1.ResourceClaimTemplate) field.ErrorList {
	f := validation.Findings{Errs: validateResourceClaimTemplate(o)}
	f.Merge(validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs, validation.Unchanged(field.NewPath("spec"), o.Spec, old.Spec))
	return f.Errs
}

// authorizeClaimTemplate checks the adminAccess that a new template requests. Updates needn't be checked, because
// the spec can't change.
func authorizeClaimTemplate(ctx context.Context, deps registry.Dependencies, t, old *resourcev1.ResourceClaimTemplate) field.ErrorList {
	if old != nil {
		return nil
	}
	return allowAdminAccess(ctx, deps, t.Namespace, requestedAdminAccess(t.Spec.Spec.Devices.Requests))
}

var resourceClaimTemplateColumns = printers.NameAndAge[resourcev1.ResourceClaimTemplate]()
