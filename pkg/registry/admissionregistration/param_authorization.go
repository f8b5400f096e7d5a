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

// The message with which a policy refuses a request can show the policy's parameter object. Therefore, the author
// of the policy or the binding must be allowed to read the parameter object (KEP-3488).

// readsParams returns the check for policies: if a write changes the paramKind, the author of the write must be
// allowed to read all objects of the new kind.
func readsParams[T configuration](kindOf func(T) *admissionregistrationv1.ParamKind) func(context.Context, registry.Dependencies, T, T) field.ErrorList {
	return func(ctx context.Context, deps registry.Dependencies, policy, old T) field.ErrorList {
		var none T
		if old != none && apiequality.Semantic.DeepEqual(kindOf(policy), kindOf(old)) {
			return nil
		}
		return forbidden("paramKind", mayReadParams(ctx, deps, kindOf(policy)))
	}
}

// readsParam returns the check for bindings: if a write changes the policy or the parameters, the author of the
// write must be allowed to read the parameters. policies is the resource of the policy. paramsOf returns the policy
// and the parameters of a binding.
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

// forbidden returns err as an error about a field of the spec, or no error if err is nil.
func forbidden(name string, err error) field.ErrorList {
	if err == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", name), err.Error())}
}

// mayReadParams returns an error unless the user may read every object of the paramKind. Without a paramKind or an
// authorizer, it returns nil.
func mayReadParams(ctx context.Context, deps registry.Dependencies, kind *admissionregistrationv1.ParamKind) error {
	if kind == nil || deps.Authorizer == nil {
		return nil
	}
	resource, _ := paramResource(deps, kind)
	return authorizeRead(ctx, deps, authorizer.AttributesRecord{
		Verb: "get", Name: "*", Namespace: "*", APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource,
	}, func(who user.Info) error {
		return fmt.Errorf(`user %v must have "get" permission on all objects of the referenced paramKind (kind=%s, apiVersion=%s)`,
			who, kind.Kind, kind.APIVersion)
	})
}

// mayReadParam returns an error unless the user may read the parameters of a binding. If the binding's policy
// doesn't exist or has no paramKind, the user must be allowed to read objects of every kind. If the binding has no
// parameters, or the server has no authorizer, mayReadParam returns nil. policies is the resource of the policy, and
// policy is its name.
func mayReadParam(ctx context.Context, deps registry.Dependencies, policies, policy string, ref *admissionregistrationv1.ParamRef) error {
	if ref == nil || deps.Authorizer == nil {
		return nil
	}
	var kind *admissionregistrationv1.ParamKind
	found, missing := deps.Get(ctx, admissionregistrationv1.Resource(policies), policy)
	switch p := found.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		kind = p.Spec.ParamKind
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		kind = p.Spec.ParamKind
	}
	resource, unable := bindingResource(deps, kind)
	if missing != nil {
		unable = "get policy " + policy
	}
	verb := "get"
	if ref.Name == "" {
		verb = "list"
	}
	return authorizeRead(ctx, deps, authorizer.AttributesRecord{
		Verb: verb, Name: ref.Name, Namespace: ref.Namespace, APIGroup: resource.Group, APIVersion: resource.Version,
		Resource: resource.Resource,
	}, func(who user.Info) error {
		if unable != "" {
			return fmt.Errorf(`unable to %s to determine minimum required permissions and user %v does not have "%v" permission for all groups, versions and resources`,
				unable, who, verb)
		}
		return fmt.Errorf(`user %v does not have "%v" permission on the object referenced by paramRef`, who, verb)
	})
}

// bindingResource returns the resource of a binding's parameters. kind is the paramKind of the policy, or nil. If the
// server doesn't know the resource, unable says what the server can't do.
func bindingResource(deps registry.Dependencies, kind *admissionregistrationv1.ParamKind) (resource schema.GroupVersionResource, unable string) {
	if kind == nil {
		return schema.GroupVersionResource{Group: "*", Version: "*", Resource: "*"}, ""
	}
	resource, problem := paramResource(deps, kind)
	if problem != "" {
		unable = fmt.Sprintf("%s paramKind &{%s %s}", problem, kind.APIVersion, kind.Kind)
	}
	return resource, unable
}

// authorizeRead returns an error unless the request's user has the permission in attributes. Members of
// system:masters have every permission, so authorizeRead doesn't call the authorizer for them.
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

// paramResource returns the resource of a paramKind. If no resource of the server has the kind yet, the result has the
// resource "*", which stands for every resource of the group version. If the apiVersion of the paramKind is invalid,
// the result stands for all resources. In both cases, problem is the verb for what the server can't do with the paramKind.
func paramResource(deps registry.Dependencies, kind *admissionregistrationv1.ParamKind) (resource schema.GroupVersionResource, problem string) {
	gv, err := schema.ParseGroupVersion(kind.APIVersion)
	if err != nil {
		return schema.GroupVersionResource{Group: "*", Version: "*", Resource: "*"}, "parse"
	}
	if resource, known := deps.ResourceOf(gv.WithKind(kind.Kind)); known {
		return resource, ""
	}
	return gv.WithResource("*"), "resolve"
}
