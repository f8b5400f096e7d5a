package rbacauthorizer

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	rbacv1informers "k8s.io/client-go/informers/rbac/v1"
	rbacv1client "k8s.io/client-go/kubernetes/typed/rbac/v1"
	rbacv1listers "k8s.io/client-go/listers/rbac/v1"
)

// Source returns roles and bindings. The objects are shared: callers must not change them.
type Source interface {
	Role(ctx context.Context, namespace, name string) (*rbacv1.Role, error)
	RoleBindings(ctx context.Context, namespace string) ([]*rbacv1.RoleBinding, error)
	ClusterRole(ctx context.Context, name string) (*rbacv1.ClusterRole, error)
	ClusterRoles(ctx context.Context) ([]*rbacv1.ClusterRole, error)
	ClusterRoleBindings(ctx context.Context) ([]*rbacv1.ClusterRoleBinding, error)
}

// FromInformers returns a source that reads the caches of shared informers, which the caller starts.
func FromInformers(informers rbacv1informers.Interface) Source {
	return &listers{
		roles:               informers.Roles().Lister(),
		roleBindings:        informers.RoleBindings().Lister(),
		clusterRoles:        informers.ClusterRoles().Lister(),
		clusterRoleBindings: informers.ClusterRoleBindings().Lister(),
	}
}

type listers struct {
	roles               rbacv1listers.RoleLister
	roleBindings        rbacv1listers.RoleBindingLister
	clusterRoles        rbacv1listers.ClusterRoleLister
	clusterRoleBindings rbacv1listers.ClusterRoleBindingLister
}

func (l *listers) Role(_ context.Context, namespace, name string) (*rbacv1.Role, error) {
	return l.roles.Roles(namespace).Get(name)
}

func (l *listers) RoleBindings(_ context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	return l.roleBindings.RoleBindings(namespace).List(labels.Everything())
}

func (l *listers) ClusterRole(_ context.Context, name string) (*rbacv1.ClusterRole, error) {
	return l.clusterRoles.Get(name)
}

func (l *listers) ClusterRoles(context.Context) ([]*rbacv1.ClusterRole, error) {
	return l.clusterRoles.List(labels.Everything())
}

func (l *listers) ClusterRoleBindings(context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	return l.clusterRoleBindings.List(labels.Everything())
}

// FromClient returns a source that sends a request to an API server at each call.
func FromClient(client rbacv1client.RbacV1Interface) Source { return &fresh{client} }

type fresh struct{ client rbacv1client.RbacV1Interface }

func (f *fresh) Role(ctx context.Context, namespace, name string) (*rbacv1.Role, error) {
	return f.client.Roles(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (f *fresh) RoleBindings(ctx context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	list, err := f.client.RoleBindings(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return pointers(list.Items), nil
}

func (f *fresh) ClusterRole(ctx context.Context, name string) (*rbacv1.ClusterRole, error) {
	return f.client.ClusterRoles().Get(ctx, name, metav1.GetOptions{})
}

func (f *fresh) ClusterRoles(ctx context.Context) ([]*rbacv1.ClusterRole, error) {
	list, err := f.client.ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return pointers(list.Items), nil
}

func (f *fresh) ClusterRoleBindings(ctx context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	list, err := f.client.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return pointers(list.Items), nil
}

func pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}
