package bootstrap

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

// NodeRules returns the rules of the cluster role system:node. The Node authorizer allows them to kubelets without a
// binding.
func NodeRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		// The kubelet authenticates and authorizes the clients of its own API by these requests.
		allow("create", "authentication.k8s.io", "tokenreviews"),
		allow("create", "authorization.k8s.io", "subjectaccessreviews localsubjectaccessreviews"),
		allow(read, core, "services"),
		allow("create get list watch", core, "nodes"),
		allow("update patch", core, "nodes/status"),
		allow("update patch", core, "nodes"),
		recordEvents(),
		allow(read, core, "pods"),
		allow("create delete", core, "pods"),
		allow("update patch", core, "pods/status"),
		allow("create", core, "pods/eviction"),
		allow(read, core, "secrets configmaps"),
		allow("get", core, "persistentvolumeclaims persistentvolumes"),
		allow("get", core, "endpoints"),
		allow("create get list watch", "certificates.k8s.io", "certificatesigningrequests"),
		allow("get create update patch delete", "coordination.k8s.io", "leases"),
		allow("get", "storage.k8s.io", "volumeattachments"),
		allow("create", core, "serviceaccounts/token"),
		allow("get update patch", core, "persistentvolumeclaims/status"),
		allow(read, "storage.k8s.io", "csidrivers"),
		allow("get create update patch delete", "storage.k8s.io", "csinodes"),
		allow(read, "node.k8s.io", "runtimeclasses"),
		allow("get", "resource.k8s.io", "resourceclaims"),
		allow("deletecollection", "resource.k8s.io", "resourceslices"),
		allow(read, "certificates.k8s.io", "clustertrustbundles"),
		allow("get", core, "serviceaccounts"),
		allow("create get list watch", "certificates.k8s.io", "podcertificaterequests"),
	}
}

// componentRoles returns the roles for the components of a cluster that aren't controllers.
func componentRoles() []roleSpec {
	const signers = "kubernetes.io/"
	approver := func(signer string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{allow("approve", "certificates.k8s.io", "signers", signers+signer)}
	}
	return []roleSpec{
		{name: "system:node", rules: NodeRules()},
		{name: "system:heapster", rules: []rbacv1.PolicyRule{
			allow(read, core, "events pods nodes namespaces"),
			allow(read, "extensions", "deployments"),
		}},
		{name: "system:node-problem-detector", rules: []rbacv1.PolicyRule{
			allow("get", core, "nodes"),
			allow("patch", core, "nodes/status"),
			recordEvents(),
		}},
		{name: "system:kubelet-api-admin", rules: []rbacv1.PolicyRule{
			allow(read, core, "nodes"),
			allow("proxy", core, "nodes"),
			allow("*", core, "nodes/proxy nodes/metrics nodes/stats nodes/log"),
			allow("*", core, "nodes/configz nodes/healthz nodes/pods"),
		}},
		{name: "system:node-bootstrapper", rules: []rbacv1.PolicyRule{
			allow("create get list watch", "certificates.k8s.io", "certificatesigningrequests"),
		}},
		{name: "system:auth-delegator", rules: []rbacv1.PolicyRule{
			allow("create", "authentication.k8s.io", "tokenreviews"),
			allow("create", "authorization.k8s.io", "subjectaccessreviews"),
		}},
		{name: "system:kube-aggregator", rules: []rbacv1.PolicyRule{allow(read, core, "services endpoints")}},
		{name: "system:kube-controller-manager", rules: []rbacv1.PolicyRule{
			recordEvents(),
			allow("create", "coordination.k8s.io", "leases"),
			allow("get update", "coordination.k8s.io", "leases", "kube-controller-manager"),
			allow("create", core, "secrets serviceaccounts"),
			allow("delete", core, "secrets"),
			allow("get", core, "namespaces secrets serviceaccounts configmaps"),
			allow("update", core, "secrets serviceaccounts"),
			allow("create", "authentication.k8s.io", "tokenreviews"),
			allow("create", "authorization.k8s.io", "subjectaccessreviews"),
			allow("list watch", "*", "*"),
			allow("create", core, "serviceaccounts/token"),
		}},
		{name: "system:kube-dns", rules: []rbacv1.PolicyRule{allow("list watch", core, "services endpoints")}},
		{name: "system:persistent-volume-provisioner", rules: []rbacv1.PolicyRule{
			allow("get list watch create delete", core, "persistentvolumes"),
			allow("get list watch update", core, "persistentvolumeclaims"),
			allow(read, "storage.k8s.io", "storageclasses"),
			allow("watch", core, "events"),
			recordEvents(),
		}},
		{name: "system:volume-scheduler", rules: []rbacv1.PolicyRule{
			allow("get list watch patch update", core, "persistentvolumes"),
			allow(read, "storage.k8s.io", "storageclasses"),
			allow("get list watch patch update", core, "persistentvolumeclaims"),
		}},
		{name: "system:certificates.k8s.io:certificatesigningrequests:nodeclient", rules: []rbacv1.PolicyRule{
			allow("create", "certificates.k8s.io", "certificatesigningrequests/nodeclient"),
		}},
		{name: "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", rules: []rbacv1.PolicyRule{
			allow("create", "certificates.k8s.io", "certificatesigningrequests/selfnodeclient"),
		}},
		{name: "system:certificates.k8s.io:legacy-unknown-approver", rules: approver("legacy-unknown")},
		{name: "system:certificates.k8s.io:kubelet-serving-approver", rules: approver("kubelet-serving")},
		{name: "system:certificates.k8s.io:kube-apiserver-client-approver", rules: approver("kube-apiserver-client")},
		{name: "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver", rules: approver("kube-apiserver-client-kubelet")},
		{name: "system:service-account-issuer-discovery", rules: []rbacv1.PolicyRule{
			paths("/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/"),
		}},
		{name: "system:cluster-trust-bundle-discovery",
			rules: []rbacv1.PolicyRule{allow(read, "certificates.k8s.io", "clustertrustbundles")}},
		{name: "system:node-proxier", rules: []rbacv1.PolicyRule{
			allow("list watch", core, "services endpoints"),
			allow(read, core, "nodes"),
			recordEvents(),
			allow("list watch", "networking.k8s.io", "servicecidrs"),
			allow("list watch", "discovery.k8s.io", "endpointslices"),
		}},
		{name: "system:kube-scheduler", rules: []rbacv1.PolicyRule{
			recordEvents(),
			allow("create", "coordination.k8s.io", "leases"),
			allow("get list update watch", "coordination.k8s.io", "leases", "kube-scheduler"),
			allow(readWrite, "coordination.k8s.io", "leasecandidates"),
			allow(read, core, "nodes"),
			allow("get list watch delete", core, "pods"),
			allow("create", core, "bindings pods/binding"),
			allow("patch update", core, "pods/status"),
			allow(read, core, "services replicationcontrollers"),
			allow(read, "apps extensions", "replicasets"),
			allow(read, "apps", "statefulsets"),
			allow(read, "policy", "poddisruptionbudgets"),
			allow(read, core, "persistentvolumeclaims persistentvolumes"),
			allow("create", "authentication.k8s.io", "tokenreviews"),
			allow("create", "authorization.k8s.io", "subjectaccessreviews"),
			allow(read, "storage.k8s.io", "csinodes"),
			allow(read, "storage.k8s.io", "volumeattachments"),
			allow(read, core, "namespaces"),
			allow(read, "storage.k8s.io", "csidrivers"),
			allow(read, "storage.k8s.io", "csistoragecapacities"),
			allow(read, "resource.k8s.io", "deviceclasses"),
			allow("get list watch patch update", "resource.k8s.io", "resourceclaims"),
			allow("get list watch patch update", "resource.k8s.io", "resourceclaims/status"),
			allow("update", core, "pods/finalizers"),
			allow(read, "resource.k8s.io", "resourceslices"),
			allow("create delete", "resource.k8s.io", "resourceclaims"),
			allow(read, "resource.k8s.io", "devicetaintrules"),
			allow("patch update", "resource.k8s.io", "resourceclaims/binding"),
		}},
	}
}
