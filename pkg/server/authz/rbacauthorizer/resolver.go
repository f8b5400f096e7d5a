package rbacauthorizer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// resolver finds the rules that apply to a user.
type resolver struct {
	source Source
}

// newResolver makes a resolver that reads from source.
func newResolver(source Source) *resolver { return &resolver{source: source} }

// visitRulesFor calls visit with each rule that applies to the user in a namespace ("" for the cluster), and with each
// error. It stops when visit returns false. The argument "granted" describes the binding that gives the rule to the
// user.
func (r *resolver) visitRulesFor(ctx context.Context, who user.Info, namespace string, visit func(granted fmt.Stringer, rule *rbacv1.PolicyRule, err error) bool) {
	bindings, err := r.source.ClusterRoleBindings(ctx)
	if err != nil && !visit(nil, nil, err) {
		return
	}
	for _, binding := range bindings {
		grant := &grant{kind: "ClusterRoleBinding", name: binding.Name, role: binding.RoleRef}
		if !r.visitBinding(ctx, who, grant, binding.Subjects, visit) {
			return
		}
	}
	if namespace == "" {
		return
	}
	namespaced, err := r.source.RoleBindings(ctx, namespace)
	if err != nil && !visit(nil, nil, err) {
		return
	}
	for _, binding := range namespaced {
		grant := &grant{kind: "RoleBinding", name: binding.Name + "/" + namespace, namespace: namespace, role: binding.RoleRef}
		if !r.visitBinding(ctx, who, grant, binding.Subjects, visit) {
			return
		}
	}
}

func (r *resolver) visitBinding(ctx context.Context, who user.Info, grant *grant, subjects []rbacv1.Subject, visit func(fmt.Stringer, *rbacv1.PolicyRule, error) bool) bool {
	i := slices.IndexFunc(subjects, func(subject rbacv1.Subject) bool { return isSubject(who, subject, grant.namespace) })
	if i < 0 {
		return true
	}
	grant.subject = subjects[i]
	rules, err := r.roleRules(ctx, grant.role, grant.namespace)
	if err != nil {
		return visit(nil, nil, err)
	}
	for i := range rules {
		if !visit(grant, &rules[i], nil) {
			return false
		}
	}
	return true
}

// rulesFor returns all rules that apply to the user in a namespace ("" for the cluster). With an error, it still
// returns the rules that were found.
func (r *resolver) rulesFor(ctx context.Context, who user.Info, namespace string) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	var errs []error
	r.visitRulesFor(ctx, who, namespace, func(_ fmt.Stringer, rule *rbacv1.PolicyRule, err error) bool {
		if rule != nil {
			rules = append(rules, *rule)
		}
		if err != nil {
			errs = append(errs, err)
		}
		return true
	})
	return rules, utilerrors.NewAggregate(errs)
}

// roleRules returns the rules of the role that a binding refers to, with the rules that the role aggregates. The
// namespace is "" for a ClusterRoleBinding.
func (r *resolver) roleRules(ctx context.Context, ref rbacv1.RoleRef, bindingNamespace string) ([]rbacv1.PolicyRule, error) {
	switch ref.Kind {
	case "Role":
		role, err := r.source.Role(ctx, bindingNamespace, ref.Name)
		if err != nil {
			return nil, err
		}
		return role.Rules, nil
	case "ClusterRole":
		role, err := r.source.ClusterRole(ctx, ref.Name)
		if err != nil {
			return nil, err
		}
		if role.AggregationRule == nil {
			return role.Rules, nil
		}
		return r.aggregate(ctx, role)
	}
	return nil, fmt.Errorf("unsupported role reference kind: %q", ref.Kind)
}

// aggregate returns the rules of a role, together with the rules of the roles that its aggregationRule selects. It does
// the same for the aggregationRules of the selected roles.
func (r *resolver) aggregate(ctx context.Context, role *rbacv1.ClusterRole) ([]rbacv1.PolicyRule, error) {
	all, err := r.source.ClusterRoles(ctx)
	if err != nil {
		return nil, fmt.Errorf("aggregate cluster role %s: %w", role.Name, err)
	}
	all = slices.SortedFunc(slices.Values(all), func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
	rules := slices.Clone(role.Rules)
	seen := map[string]bool{role.Name: true}
	for todo := []*rbacv1.ClusterRole{role}; len(todo) > 0; {
		aggregating := todo[0]
		todo = todo[1:]
		for _, selector := range aggregating.AggregationRule.ClusterRoleSelectors {
			matches, err := metav1.LabelSelectorAsSelector(&selector)
			if err != nil {
				return nil, fmt.Errorf("aggregation rule of cluster role %s: %w", aggregating.Name, err)
			}
			for _, candidate := range all {
				if seen[candidate.Name] || !matches.Matches(labels.Set(candidate.Labels)) {
					continue
				}
				seen[candidate.Name] = true
				rules = append(rules, candidate.Rules...)
				if candidate.AggregationRule != nil {
					todo = append(todo, candidate)
				}
			}
		}
	}
	return rules, nil
}

// isSubject tells whether the subject of a binding is the user, or a group of the user.
func isSubject(who user.Info, subject rbacv1.Subject, bindingNamespace string) bool {
	switch subject.Kind {
	case rbacv1.UserKind:
		return who.GetName() == subject.Name
	case rbacv1.GroupKind:
		return slices.Contains(who.GetGroups(), subject.Name)
	case rbacv1.ServiceAccountKind:
		namespace := subjectNamespace(subject, bindingNamespace)
		return namespace != "" && serviceaccount.MatchesUsername(namespace, subject.Name, who.GetName())
	}
	return false
}

func subjectNamespace(subject rbacv1.Subject, bindingNamespace string) string {
	if subject.Namespace != "" {
		return subject.Namespace
	}
	return bindingNamespace
}

// grant is a binding that gives a rule to the user.
type grant struct {
	kind, name, namespace string
	role                  rbacv1.RoleRef
	subject               rbacv1.Subject
}

// String describes the binding, for the audit log.
func (g *grant) String() string {
	who := g.subject.Name
	if g.subject.Kind == rbacv1.ServiceAccountKind {
		who += "/" + subjectNamespace(g.subject, g.namespace)
	}
	return fmt.Sprintf("%s %q of %s %q to %s %q", g.kind, g.name, g.role.Kind, g.role.Name, g.subject.Kind, who)
}
