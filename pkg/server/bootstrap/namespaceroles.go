package bootstrap

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Roles returns the default roles in system namespaces.
func Roles() []*rbacv1.Role {
	role := func(namespace, name string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
		return &rbacv1.Role{ObjectMeta: defaultMeta(namespace, name), Rules: rules}
	}
	const lead = "create get list update watch"
	leases, candidates := allow(lead, "coordination.k8s.io", "leases"), allow(lead, "coordination.k8s.io", "leasecandidates")
	return []*rbacv1.Role{
		role(metav1.NamespaceSystem, "extension-apiserver-authentication-reader",
			allow(read, core, "configmaps", authenticationConfigMap)),
		role(metav1.NamespaceSystem, controllerPrefix+"bootstrap-signer", allow(read, core, "secrets")),
		role(metav1.NamespaceSystem, controllerPrefix+"cloud-provider", allow("create get list watch", core, "configmaps")),
		role(metav1.NamespaceSystem, controllerPrefix+"token-cleaner", allow("get list watch delete", core, "secrets"), recordEvents()),
		role(metav1.NamespaceSystem, "system::leader-locking-kube-controller-manager", leases, candidates),
		role(metav1.NamespaceSystem, "system::leader-locking-kube-scheduler", leases, candidates),
		role(metav1.NamespacePublic, controllerPrefix+"bootstrap-signer",
			allow(read, core, "configmaps"), allow("update", core, "configmaps", "cluster-info"), recordEvents()),
	}
}
