package bootstrap

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/component-helpers/auth/rbac/reconciliation"
)

// ensureRBAC creates missing default roles and bindings. It also restores rules and subjects that a user has removed
// from default roles and bindings, unless an annotation forbids the change. Rules and subjects that a user has added
// stay.
func ensureRBAC(ctx context.Context, client kubernetes.Interface) error {
	rbac, namespaces := client.RbacV1(), client.CoreV1().Namespaces()
	var tasks []func() error
	add := func(task func() error) { tasks = append(tasks, task) }
	add(func() error {
		list, err := rbac.ClusterRoles().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list cluster roles: %w", err)
		}
		inherited, err := inherit(ctx, aggregatedFrom, list.Items, inheritRules, rbac.ClusterRoles().Create)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, inherited...)
		modifier := reconciliation.ClusterRoleModifier{Client: rbac.ClusterRoles()}
		return reconcile(ctx, ClusterRoles(), list.Items, rbac.ClusterRoles().Create, func(want, have *rbacv1.ClusterRole) error {
			return reconcileRules(reconciliation.ClusterRoleRuleOwner{ClusterRole: want}, reconciliation.ClusterRoleRuleOwner{ClusterRole: have}, modifier)
		})
	})
	add(func() error {
		list, err := rbac.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list cluster role bindings: %w", err)
		}
		inherited, err := inherit(ctx, splitFrom, list.Items, inheritSubjects, rbac.ClusterRoleBindings().Create)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, inherited...)
		modifier := reconciliation.ClusterRoleBindingClientAdapter{Client: rbac.ClusterRoleBindings()}
		return reconcile(ctx, ClusterRoleBindings(), list.Items, rbac.ClusterRoleBindings().Create, func(want, have *rbacv1.ClusterRoleBinding) error {
			return reconcileSubjects(reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: want}, reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: have}, modifier)
		})
	})
	for _, namespace := range []string{metav1.NamespaceSystem, metav1.NamespacePublic} {
		add(func() error {
			list, err := rbac.Roles(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return fmt.Errorf("list roles of %s: %w", namespace, err)
			}
			modifier := reconciliation.RoleModifier{Client: rbac, NamespaceClient: namespaces}
			return reconcile(ctx, inNamespace(namespace, Roles()), list.Items, rbac.Roles(namespace).Create, func(want, have *rbacv1.Role) error {
				return reconcileRules(reconciliation.RoleRuleOwner{Role: want}, reconciliation.RoleRuleOwner{Role: have}, modifier)
			})
		})
		add(func() error {
			list, err := rbac.RoleBindings(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return fmt.Errorf("list role bindings of %s: %w", namespace, err)
			}
			modifier := reconciliation.RoleBindingClientAdapter{Client: rbac, NamespaceClient: namespaces}
			return reconcile(ctx, inNamespace(namespace, RoleBindings()), list.Items, rbac.RoleBindings(namespace).Create, func(want, have *rbacv1.RoleBinding) error {
				return reconcileSubjects(reconciliation.RoleBindingAdapter{RoleBinding: want}, reconciliation.RoleBindingAdapter{RoleBinding: have}, modifier)
			})
		})
	}
	return utilerrors.AggregateGoroutines(tasks...)
}

func inNamespace[P metav1.Object](namespace string, objects []P) []P {
	var out []P
	for _, object := range objects {
		if object.GetNamespace() == namespace {
			out = append(out, object)
		}
	}
	return out
}

func reconcileRules(want, have reconciliation.RuleOwner, modifier reconciliation.RuleOwnerModifier) error {
	options := reconciliation.ReconcileRoleOptions{Role: want, Confirm: true, Client: &knownRules{RuleOwnerModifier: modifier, have: have}}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		_, err := options.Run()
		return err
	})
}

func reconcileSubjects(want, have reconciliation.RoleBinding, modifier reconciliation.RoleBindingModifier) error {
	options := reconciliation.ReconcileRoleBindingOptions{RoleBinding: want, Confirm: true, Client: &knownSubjects{RoleBindingModifier: modifier, have: have}}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		_, err := options.Run()
		return err
	})
}

// knownRules answers the first read of a role from a list of all roles, which saves a request for each role. Later
// reads, which follow a conflict, are requests.
type knownRules struct {
	reconciliation.RuleOwnerModifier
	have reconciliation.RuleOwner
}

func (k *knownRules) Get(namespace, name string) (reconciliation.RuleOwner, error) {
	if have := k.have; have != nil {
		k.have = nil
		return have, nil
	}
	return k.RuleOwnerModifier.Get(namespace, name)
}

// knownSubjects answers the first read of a binding from a list of all bindings, which saves a request for each
// binding. Later reads, which follow a conflict, are requests.
type knownSubjects struct {
	reconciliation.RoleBindingModifier
	have reconciliation.RoleBinding
}

func (k *knownSubjects) Get(namespace, name string) (reconciliation.RoleBinding, error) {
	if have := k.have; have != nil {
		k.have = nil
		return have, nil
	}
	return k.RoleBindingModifier.Get(namespace, name)
}
