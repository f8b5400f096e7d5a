package integration_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// clientOf returns a client that sends requests as the user. The test gives the user permissions by grant.
func clientOf(t testing.TB, srv *miniapitest.Server, user string, groups ...string) kubernetes.Interface {
	t.Helper()
	return must(kubernetes.NewForConfig(srv.AddUser(user, groups...)))(t)
}

// rbacRule returns a rule that permits a verb for resources of an API group.
func rbacRule(group, verb string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Verbs: []string{verb}, Resources: resources}
}

// grant gives a user permissions in all namespaces.
func grant(t testing.TB, srv *miniapitest.Server, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	rbac := srv.Client().RbacV1()
	role := must(rbac.ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{GenerateName: user + "-"}, Rules: rules,
	}, metav1.CreateOptions{}))(t)
	must(rbac.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{}))(t)
}
