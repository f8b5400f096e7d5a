package admissionregistration

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// The author of a policy or a binding learns from what the policy refuses what is in its
// parameters. So the author must be allowed to read them (KEP-3488).

// forbidden refuses a field of the spec for the reason of an error, if there is one.
func forbidden(name string, err error) field.ErrorList {
	if err == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", name), err.Error())}
}

// mayReadParams says whether the user may read every object of a kind of parameters.
func mayReadParams(ctx context.Context, deps registry.Dependencies, kind *admissionregistrationv1.ParamKind) error {
	if kind == nil || deps.Authorizer == nil {
		return nil
	}
	resource := paramResource(deps, kind)
	return authorizeRead(ctx, deps, authorizer.AttributesRecord{
		Verb: "get", Name: "*", Namespace: "*", APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource,
	}, func(who user.Info) error {
		return fmt.Errorf(`user %v must have "get" permission on all objects of the referenced paramKind (kind=%s, apiVersion=%s)`,
			who, kind.Kind, kind.APIVersion)
	})
}

// mayReadParam says whether the user may read what a binding to a policy refers to. Of
// a policy that isn't there yet nothing is known, so it may be anything.
func mayReadParam(ctx context.Context, deps registry.Dependencies, policies, policy string, ref *admissionregistrationv1.ParamRef) error {
	if ref == nil || deps.Authorizer == nil {
		return nil
	}
	resource := schema.GroupVersionResource{Group: "*", Version: "*", Resource: "*"}
	found, missing := deps.Get(ctx, admissionregistrationv1.Resource(policies), policy)
	switch p := found.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		if p.Spec.ParamKind != nil {
			resource = paramResource(deps, p.Spec.ParamKind)
		}
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		if p.Spec.ParamKind != nil {
			resource = paramResource(deps, p.Spec.ParamKind)
		}
	}
	verb := "get"
	if ref.Name == "" {
		verb = "list"
	}
	return authorizeRead(ctx, deps, authorizer.AttributesRecord{
		Verb: verb, Name: ref.Name, Namespace: ref.Namespace, APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource,
	}, func(who user.Info) error {
		if missing != nil {
			return fmt.Errorf(`unable to get policy %s to determine minimum required permissions and user %v does not have "%v" permission for all groups, versions and resources`,
				policy, who, verb)
		}
		return fmt.Errorf(`user %v does not have "%v" permission on the object referenced by paramRef`, who, verb)
	})
}

// authorizeRead asks the authorizer on behalf of the request's user. Whoever may do
// everything isn't asked about.
func authorizeRead(ctx context.Context, deps registry.Dependencies, attributes authorizer.AttributesRecord, refused func(user.Info) error) error {
	who, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return fmt.Errorf("cannot identify user to authorize read access to the parameters")
	}
	if slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup) {
		return nil
	}
	attributes.User, attributes.ResourceRequest = who, true
	decision, _, err := deps.Authorizer.Authorize(ctx, attributes)
	if err != nil {
		return fmt.Errorf("failed to authorize request: %w", err)
	}
	if decision != authorizer.DecisionAllow {
		return refused(who)
	}
	return nil
}

// paramResource is the resource of a kind of parameters, which of an unknown kind may be
// any of its group version.
func paramResource(deps registry.Dependencies, kind *admissionregistrationv1.ParamKind) schema.GroupVersionResource {
	gv, err := schema.ParseGroupVersion(kind.APIVersion)
	if err != nil {
		return schema.GroupVersionResource{Group: "*", Version: "*", Resource: "*"}
	}
	if resource, known := deps.ResourceOf(gv.WithKind(kind.Kind)); known {
		return resource
	}
	return gv.WithResource("*")
}
