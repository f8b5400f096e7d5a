package bootstrap

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

// ClusterRoleBindings returns the default cluster role bindings. The binding of system:node has no subject: the Node
// authorizer allows nodes the role's rules without a binding.
func ClusterRoleBindings() []*rbacv1.ClusterRoleBinding {
	var (
		kubeProxy         = userSubject("system:kube-proxy")
		controllerManager = userSubject("system:kube-controller-manager")
		scheduler         = userSubject("system:kube-scheduler")
		everybody         = groupSubject(user.AllAuthenticated)
	)
	bindings := []*rbacv1.ClusterRoleBinding{
		bindCluster("cluster-admin", groupSubject(user.SystemPrivilegedGroup)),
		bindCluster("system:monitoring", groupSubject(user.MonitoringGroup)),
		bindCluster("system:discovery", everybody),
		bindCluster("system:basic-user", everybody),
		bindCluster("system:public-info-viewer", everybody, groupSubject(user.AllUnauthenticated)),
		bindCluster("system:node-proxier", kubeProxy),
		bindCluster("system:kube-controller-manager", controllerManager),
		bindCluster("system:kube-dns", accountSubject("kube-dns")),
		bindCluster("system:kube-scheduler", scheduler),
		bindCluster("system:volume-scheduler", scheduler),
		bindCluster("system:node"),
		bindCluster("system:service-account-issuer-discovery", groupSubject("system:serviceaccounts")),
		bindCluster("system:cluster-trust-bundle-discovery", groupSubject("system:serviceaccounts")),
	}
	for _, role := range controllerRoles() {
		bindings = append(bindings, bindCluster(role.name, accountSubject(strings.TrimPrefix(role.name, controllerPrefix))))
	}
	return bindings
}

// RoleBindings returns the default role bindings in system namespaces.
func RoleBindings() []*rbacv1.RoleBinding {
	controllerManager, scheduler := userSubject("system:kube-controller-manager"), userSubject("system:kube-scheduler")
	bind := func(namespace, name, role string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{ObjectMeta: defaultMeta(namespace, name), RoleRef: roleRef("Role", role), Subjects: subjects}
	}
	own := func(namespace, role string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
		return bind(namespace, role, role, subjects...)
	}
	return []*rbacv1.RoleBinding{
		bind(metav1.NamespaceSystem, "system::extension-apiserver-authentication-reader",
			"extension-apiserver-authentication-reader", controllerManager, scheduler),
		own(metav1.NamespaceSystem, controllerPrefix+"bootstrap-signer", accountSubject("bootstrap-signer")),
		own(metav1.NamespaceSystem, controllerPrefix+"cloud-provider", accountSubject("cloud-provider")),
		own(metav1.NamespaceSystem, controllerPrefix+"token-cleaner", accountSubject("token-cleaner")),
		own(metav1.NamespaceSystem, "system::leader-locking-kube-controller-manager",
			controllerManager, accountSubject("kube-controller-manager"), accountSubject("leader-election-controller")),
		own(metav1.NamespaceSystem, "system::leader-locking-kube-scheduler", scheduler, accountSubject("kube-scheduler")),
		own(metav1.NamespacePublic, controllerPrefix+"bootstrap-signer", accountSubject("bootstrap-signer")),
	}
}

// bindCluster returns a cluster role binding with the name of the role.
func bindCluster(role string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: defaultMeta("", role), RoleRef: roleRef("ClusterRole", role), Subjects: subjects}
}

func roleRef(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

func userSubject(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

func groupSubject(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}
}

// accountSubject returns a service account of kube-system as the subject of a binding.
func accountSubject(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: name}
}
