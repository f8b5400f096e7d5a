package bootstrap

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// In earlier versions of Kubernetes, some default roles and bindings were parts of other roles and bindings. In a
// cluster of an earlier version, the new object begins as a copy of the old object. So an administrator's changes of
// the old object also apply to the new object.
var (
	// aggregatedFrom maps an aggregated role to the role that had its rules until Kubernetes 1.9.
	aggregatedFrom = map[string]string{
		"system:aggregate-to-admin": "admin",
		"system:aggregate-to-edit":  "edit",
		"system:aggregate-to-view":  "view",
	}
	// splitFrom maps a binding to the binding that it was part of until Kubernetes 1.14.
	splitFrom = map[string]string{"system:public-info-viewer": "system:discovery"}
)

// inherit creates missing objects as copies of other objects. The keys of the argument "from" are the names of the
// copies, and the values are the names of the originals. inherit makes no copy of an original that isn't in the list.
// The function successor makes a copy, or returns nil if no copy is needed. The results are the created copies.
func inherit[T any, P interface {
	*T
	metav1.Object
}](ctx context.Context, from map[string]string, list []T, successor func(name string, of P) P, do func(context.Context, P, metav1.CreateOptions) (P, error)) ([]T, error) {
	have := map[string]P{}
	for i := range list {
		have[P(&list[i]).GetName()] = &list[i]
	}
	var created []T
	for name, origin := range from {
		if have[name] != nil || have[origin] == nil {
			continue
		}
		want := successor(name, have[origin])
		if want == nil {
			continue
		}
		object, err := do(ctx, want, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			continue // another server has created the same copy
		}
		if err != nil {
			return nil, fmt.Errorf("create %T %s as a copy of %s: %w", want, name, origin, err)
		}
		created = append(created, *object)
	}
	return created, nil
}

// inheritRules returns a role that has the rules of the role "of". The argument "name" is the name of the returned
// role. The result is nil if the role "of" has an aggregationRule already.
func inheritRules(name string, of *rbacv1.ClusterRole) *rbacv1.ClusterRole {
	if of.AggregationRule != nil {
		return nil
	}
	return &rbacv1.ClusterRole{ObjectMeta: inheritMeta(name, of), Rules: of.Rules}
}

// inheritSubjects returns the default binding with the given name. The subjects, labels and annotations are those of
// the binding "of". The result is nil if there is no such default binding.
func inheritSubjects(name string, of *rbacv1.ClusterRoleBinding) *rbacv1.ClusterRoleBinding {
	for _, binding := range ClusterRoleBindings() {
		if binding.Name == name {
			return &rbacv1.ClusterRoleBinding{ObjectMeta: inheritMeta(name, of), Subjects: of.Subjects, RoleRef: binding.RoleRef}
		}
	}
	return nil
}

// inheritMeta copies labels and annotations. One of the annotations may forbid that the server reconciles the object.
func inheritMeta(name string, of metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: of.GetLabels(), Annotations: of.GetAnnotations()}
}
