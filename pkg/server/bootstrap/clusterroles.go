package bootstrap

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// roleSpec is a cluster role in the tables of this package.
type roleSpec struct {
	name  string
	rules []rbacv1.PolicyRule
	// aggregates is a label, or empty. If it is set, the role is aggregated: it gets the rules of all roles that have
	// the label.
	aggregates string
	// into is a label of this role, or empty. The aggregated role for this label gets the rules of this role.
	into string
}

// ClusterRoles returns the default cluster roles: for users, for the components of a cluster, and for the controllers.
// kube-apiserver with its default feature gates has the same roles.
func ClusterRoles() []*rbacv1.ClusterRole {
	var roles []*rbacv1.ClusterRole
	for _, table := range [][]roleSpec{userRoles(), componentRoles(), controllerRoles()} {
		for _, spec := range table {
			roles = append(roles, spec.clusterRole())
		}
	}
	return roles
}

func (s roleSpec) clusterRole() *rbacv1.ClusterRole {
	role := &rbacv1.ClusterRole{ObjectMeta: defaultMeta("", s.name), Rules: s.rules}
	if s.into != "" {
		role.Labels[s.into] = "true"
	}
	if s.aggregates != "" {
		role.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
			{MatchLabels: map[string]string{s.aggregates: "true"}},
		}}
	}
	return role
}

// defaultMeta returns metadata with the label and the annotation of roles and bindings that Ensure reconciles at each
// start.
func defaultMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:   namespace,
		Name:        name,
		Labels:      map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"},
		Annotations: map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"},
	}
}
