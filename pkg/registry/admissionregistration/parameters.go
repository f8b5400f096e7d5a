package admissionregistration

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// A policy's refusals can reveal its parameters to the author of the policy or the binding. Therefore the author must
// be allowed to read the parameters (KEP-3488).

// readsParams returns the check of a policy's author when the kind of parameters changes.
func readsParams[T configuration](kindOf func(T) *admissionregistrationv1.ParamKind) func(context.Context, registry.Dependencies, T, T) field.ErrorList {
	return func(ctx context.Context, deps registry.Dependencies, policy, old T) field.ErrorList {
		var none T
		if old != none && apiequality.Semantic.DeepEqual(kindOf(policy), kindOf(old)) {
			return nil
		}
		return forbidden("paramKind", mayReadParams(ctx, deps, kindOf(policy)))
	}
}

// readsParam returns the check of a binding's author when the policy or the parameters change. The argument
// policies is the resource of the policy. The function paramsOf returns the policy and the parameters of a binding.
func readsParam[T configuration](policies string, paramsOf func(T) (policy string, ref *admissionregistrationv1.ParamRef)) func(context.Context, registry.Dependencies, T, T) field.ErrorList {
	return func(ctx context.Context, deps registry.Dependencies, binding, old T) field.ErrorList {
		policy, ref := paramsOf(binding)
		var none T
		if old != none {
			oldPolicy, oldRef := paramsOf(old)
			if policy == oldPolicy && apiequality.Semantic.DeepEqual(ref, oldRef) {
				return nil
			}
		}
		return forbidden("paramRef", mayReadParam(ctx, deps, policies, policy, ref))
	}
}

// forbidden makes an error, if there is one, the reason to refuse a field of the spec.
func forbidden(name string, err error) field.ErrorList {
	if err == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", name), err.Error())}
}

// mayReadParams tells whether the user may read every object of a kind of parameters.
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

// mayReadParam tells whether the user may read the parameters of a binding. If the policy of the binding doesn't exist
// yet, the parameters may be of any kind.
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

// authorizeRead asks the authorizer whether the request's user may read. Members of system:masters may do everything,
// so the authorizer isn't asked about them.
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

// paramResource returns the resource of a kind of parameters. A kind that the server doesn't know yet stands for
// every resource of its group version.
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
