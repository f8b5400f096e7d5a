package rbacauthorizer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// EscalationChecker refuses roles and bindings that would give permissions that their author lacks
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping).
type EscalationChecker struct {
	resolver   *resolver
	authorizer authorizer.UnconditionalAuthorizer
}

// NewEscalationChecker makes a checker that reads roles and bindings from source. The source must include the latest
// writes: use [FromClient], because the caches of informers may lag behind. The authorizer decides on the verbs
// escalate and bind.
func NewEscalationChecker(source Source, authz authorizer.UnconditionalAuthorizer) *EscalationChecker {
	return &EscalationChecker{resolver: newResolver(&requested{source}), authorizer: authz}
}

// requested is a source whose error for a missing role names the resource of the request. kube-apiserver reads roles
// with the context of the request, so clients know this error. For a RoleBinding to the missing role "a", the error is
// rolebindings.rbac.authorization.k8s.io "a" not found.
type requested struct{ Source }

func (r *requested) Role(ctx context.Context, namespace, name string) (*rbacv1.Role, error) {
	role, err := r.Source.Role(ctx, namespace, name)
	return role, ofRequest(ctx, name, err)
}

func (r *requested) ClusterRole(ctx context.Context, name string) (*rbacv1.ClusterRole, error) {
	role, err := r.Source.ClusterRole(ctx, name)
	return role, ofRequest(ctx, name, err)
}

// ofRequest returns err, unless err says that a role is missing. Then it returns such an error for the resource of the
// request.
func ofRequest(ctx context.Context, name string, err error) error {
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	if !ok || !apierrors.IsNotFound(err) {
		return err
	}
	return apierrors.NewNotFound(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, name)
}

// Check returns an error if the user of a request may not store a Role, ClusterRole, RoleBinding or ClusterRoleBinding.
// The argument "old" is the stored object, or nil for a create. The context has the user and the namespace of the
// request.
func (c *EscalationChecker) Check(ctx context.Context, object, old runtime.Object) error {
	who, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return apierrors.NewInternalError(errors.New("no user in the context of a role or binding"))
	}
	if slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup) || old != nil && onlyForGarbageCollection(object, old) {
		return nil
	}
	switch object := object.(type) {
	case *rbacv1.Role:
		return c.checkRole(ctx, who, role{resource: "roles", name: object.Name, rules: object.Rules})
	case *rbacv1.ClusterRole:
		previous, _ := old.(*rbacv1.ClusterRole)
		return c.checkRole(ctx, who, role{
			resource: "clusterroles", name: object.Name, rules: object.Rules,
			aggregates: aggregates(object) || aggregates(previous),
		})
	case *rbacv1.RoleBinding:
		namespace, ok := genericapirequest.NamespaceFrom(ctx)
		if !ok {
			return apierrors.NewBadRequest("namespace is required")
		}
		return c.checkBinding(ctx, who, binding{resource: "rolebindings", name: object.Name, namespace: namespace, role: object.RoleRef})
	case *rbacv1.ClusterRoleBinding:
		return c.checkBinding(ctx, who, binding{resource: "clusterrolebindings", name: object.Name, role: object.RoleRef})
	}
	return apierrors.NewInternalError(fmt.Errorf("a %T is neither a role nor a binding", object))
}

// role has the parts of a Role or ClusterRole that the check of privilege escalation uses.
type role struct {
	resource, name string
	rules          []rbacv1.PolicyRule
	aggregates     bool
}

// binding has the parts of a RoleBinding or ClusterRoleBinding that the check of privilege escalation uses.
type binding struct {
	resource, name, namespace string
	role                      rbacv1.RoleRef
}

func (c *EscalationChecker) checkRole(ctx context.Context, who user.Info, role role) error {
	namespace := genericapirequest.NamespaceValue(ctx)
	if c.allowed(ctx, who, authorizer.AttributesRecord{
		Verb: "escalate", Namespace: namespace, APIGroup: rbacv1.GroupName, Resource: role.resource, Name: requestedName(ctx),
	}) {
		return nil
	}
	if err := c.holds(ctx, who, namespace, role.rules); err != nil {
		return apierrors.NewForbidden(rbacv1.Resource(role.resource), role.name, err)
	}
	if role.aggregates && c.holds(ctx, who, namespace, everything()) != nil {
		return apierrors.NewForbidden(rbacv1.Resource(role.resource), role.name,
			errors.New("must have cluster-admin privileges to use the aggregationRule"))
	}
	return nil
}

func (c *EscalationChecker) checkBinding(ctx context.Context, who user.Info, binding binding) error {
	roles, known := map[string]string{"Role": "roles", "ClusterRole": "clusterroles"}[binding.role.Kind]
	if known && c.allowed(ctx, who, authorizer.AttributesRecord{
		Verb: "bind", Namespace: binding.namespace, APIGroup: binding.role.APIGroup, Resource: roles, Name: binding.role.Name,
	}) {
		return nil
	}
	rules, err := c.resolver.roleRules(ctx, binding.role, binding.namespace)
	if err != nil {
		return err
	}
	if err := c.holds(ctx, who, binding.namespace, rules); err != nil {
		return apierrors.NewForbidden(rbacv1.Resource(binding.resource), binding.name, err)
	}
	return nil
}

// requestedName returns the name in the path of the request. As in kube-apiserver, a POST has no name there. So a rule
// with resourceNames doesn't allow to escalate in a POST.
func requestedName(ctx context.Context) string {
	if info, ok := genericapirequest.RequestInfoFrom(ctx); ok {
		return info.Name
	}
	return ""
}

func (c *EscalationChecker) allowed(ctx context.Context, who user.Info, request authorizer.AttributesRecord) bool {
	request.User, request.APIVersion, request.ResourceRequest = who, "*", true
	decision, _, err := c.authorizer.Authorize(ctx, request)
	return err == nil && decision == authorizer.DecisionAllow
}

// holds returns an error if the user lacks one of the rules. The error names the missing rules.
func (c *EscalationChecker) holds(ctx context.Context, who user.Info, namespace string, rules []rbacv1.PolicyRule) error {
	held, resolutionErr := c.resolver.rulesFor(ctx, who, namespace)
	covered, missing := validation.Covers(held, rules)
	if covered {
		return nil
	}
	lines := make([]string, 0, len(missing))
	for _, rule := range compact(missing) {
		lines = append(lines, describe(rule))
	}
	slices.Sort(lines)
	message := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s",
		who.GetName(), who.GetGroups(), strings.Join(slices.Compact(lines), "\n"))
	if resolutionErr != nil {
		message += fmt.Sprintf("; resolution errors: %v", []error{resolutionErr})
	}
	return errors.New(message)
}

// compact joins rules that differ only in their verbs.
func compact(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	type target struct{ group, resource, name string }
	at := map[target]int{}
	var out []rbacv1.PolicyRule
	for _, rule := range rules {
		if len(rule.APIGroups) != 1 || len(rule.Resources) != 1 || len(rule.ResourceNames) > 1 || len(rule.NonResourceURLs) > 0 {
			out = append(out, rule)
			continue
		}
		key := target{group: rule.APIGroups[0], resource: rule.Resources[0]}
		if len(rule.ResourceNames) == 1 {
			key.name = rule.ResourceNames[0]
		}
		if i, ok := at[key]; ok {
			out[i].Verbs = append(out[i].Verbs, rule.Verbs...)
			continue
		}
		at[key] = len(out)
		rule.Verbs = slices.Clone(rule.Verbs)
		out = append(out, rule)
	}
	return out
}

// describe returns a rule as text, without its empty fields.
func describe(rule rbacv1.PolicyRule) string {
	var parts []string
	for _, field := range []struct {
		name   string
		values []string
	}{
		{"APIGroups", rule.APIGroups},
		{"Resources", rule.Resources},
		{"NonResourceURLs", rule.NonResourceURLs},
		{"ResourceNames", rule.ResourceNames},
		{"Verbs", rule.Verbs},
	} {
		if len(field.values) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", field.name, field.values))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func everything() []rbacv1.PolicyRule {
	all := []string{"*"}
	return []rbacv1.PolicyRule{
		{APIGroups: all, Resources: all, Verbs: all},
		{NonResourceURLs: all, Verbs: all},
	}
}

func aggregates(role *rbacv1.ClusterRole) bool {
	return role != nil && role.AggregationRule != nil && len(role.AggregationRule.ClusterRoleSelectors) > 0
}

// onlyForGarbageCollection tells whether an update changes only owner references, finalizers and managed fields. The
// garbage collector may change these fields of a role although it doesn't have the permissions of the role.
func onlyForGarbageCollection(object, old runtime.Object) bool {
	updated := object.DeepCopyObject()
	to, err := meta.Accessor(updated)
	if err != nil {
		return false
	}
	from, err := meta.Accessor(old)
	if err != nil {
		return false
	}
	to.SetOwnerReferences(from.GetOwnerReferences())
	to.SetFinalizers(from.GetFinalizers())
	to.SetManagedFields(from.GetManagedFields())
	return equality.Semantic.DeepEqual(updated, old)
}
