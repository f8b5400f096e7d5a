package bootstrap

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

// controllerPrefix is the beginning of the names of the controllers' roles. The rest of a name is the name of the
// controller's service account.
const controllerPrefix = "system:controller:"

// controllerRoles returns the roles for the controllers of kube-controller-manager. Each controller has a service
// account of its own.
func controllerRoles() []roleSpec {
	const (
		admissionregistration = "admissionregistration.k8s.io"
		appsOld               = "apps extensions"
		authorization         = "authorization.k8s.io"
		certificates          = "certificates.k8s.io"
		discovery             = "discovery.k8s.io"
		networking            = "networking.k8s.io"
		resource              = "resource.k8s.io"
		storage               = "storage.k8s.io"

		readUpdate = "get list watch update"
		patching   = "patch update"
		manage     = "create delete get list patch update watch"
	)
	events := recordEvents()
	roles := []roleSpec{
		{name: "attachdetach-controller", rules: []rbacv1.PolicyRule{
			allow("list watch", core, "persistentvolumes persistentvolumeclaims"),
			allow(read, core, "nodes"),
			allow(patching, core, "nodes/status"),
			allow("list watch", core, "pods"),
			events,
			allow("get create delete list watch", storage, "volumeattachments"),
			allow(read, storage, "csidrivers"),
			allow(read, storage, "csinodes"),
		}},
		{name: "certificate-controller", rules: []rbacv1.PolicyRule{
			allow("get list watch delete", certificates, "certificatesigningrequests"),
			allow("update", certificates, "certificatesigningrequests/status certificatesigningrequests/approval"),
			allow("approve", certificates, "signers", "kubernetes.io/kube-apiserver-client-kubelet"),
			allow("sign", certificates, "signers", "kubernetes.io/kube-apiserver-client",
				"kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving", "kubernetes.io/legacy-unknown"),
			allow("create", authorization, "subjectaccessreviews"),
			events,
		}},
		{name: "clusterrole-aggregation-controller", rules: []rbacv1.PolicyRule{
			allow("escalate get list update patch watch", "rbac.authorization.k8s.io", "clusterroles"),
		}},
		{name: "cronjob-controller", rules: []rbacv1.PolicyRule{
			allow(readUpdate, "batch", "cronjobs"),
			allow(manage, "batch", "jobs"),
			allow("update", "batch", "cronjobs/status"),
			allow("update", "batch", "cronjobs/finalizers"),
			allow("list watch delete", core, "pods"),
			events,
		}},
		{name: "daemon-set-controller", rules: []rbacv1.PolicyRule{
			allow(read, appsOld, "daemonsets"),
			allow("update", appsOld, "daemonsets/status"),
			allow("update", appsOld, "daemonsets/finalizers"),
			allow("list watch", core, "nodes"),
			allow("list watch create delete patch", core, "pods"),
			allow("create", core, "pods/binding"),
			allow(manage, "apps", "controllerrevisions"),
			events,
		}},
		{name: "deployment-controller", rules: []rbacv1.PolicyRule{
			allow(readUpdate, appsOld, "deployments"),
			allow("update", appsOld, "deployments/status"),
			allow("update", appsOld, "deployments/finalizers"),
			allow(manage, appsOld, "replicasets"),
			allow(readUpdate, core, "pods"),
			events,
		}},
		{name: "device-taint-eviction-controller", rules: []rbacv1.PolicyRule{
			allow("get list watch delete", core, "pods"),
			allow(patching, core, "pods/status"),
			allow(read, resource, "resourceclaims"),
			allow(read, resource, "resourceslices"),
			allow(read, resource, "deviceclasses"),
			events,
			allow(patching, resource, "devicetaintrules/status"),
			allow(read, resource, "devicetaintrules"),
		}},
		{name: "disruption-controller", rules: []rbacv1.PolicyRule{
			allow(read, appsOld, "deployments"),
			allow(read, appsOld, "replicasets"),
			allow(read, core, "replicationcontrollers"),
			allow(read, "policy", "poddisruptionbudgets"),
			allow(read, "apps", "statefulsets"),
			allow("update", "policy", "poddisruptionbudgets/status"),
			allow(patching, core, "pods/status"),
			allow("get", "*", "*/scale"),
			events,
		}},
		{name: "endpoint-controller", rules: []rbacv1.PolicyRule{
			allow(read, core, "services pods"),
			allow("get list create update delete watch", core, "endpoints"),
			allow("create", core, "endpoints/restricted"),
			events,
		}},
		{name: "endpointslice-controller", rules: []rbacv1.PolicyRule{
			allow(read, core, "services pods nodes"),
			allow("update", core, "services/finalizers"),
			allow("get list create update delete watch", discovery, "endpointslices"),
			events,
		}},
		{name: "endpointslicemirroring-controller", rules: []rbacv1.PolicyRule{
			allow(read, core, "services endpoints"),
			allow("update", core, "services/finalizers"),
			allow("update", core, "endpoints/finalizers"),
			allow("get list create update delete watch", discovery, "endpointslices"),
			events,
		}},
		{name: "expand-controller", rules: []rbacv1.PolicyRule{
			allow("get list watch update patch", core, "persistentvolumes"),
			allow(patching, core, "persistentvolumeclaims/status"),
			allow(read, core, "persistentvolumeclaims"),
			events,
		}},
		{name: "ephemeral-volume-controller", rules: []rbacv1.PolicyRule{
			allow(read, core, "pods"),
			allow("update", core, "pods/finalizers"),
			allow("get list watch create", core, "persistentvolumeclaims"),
			events,
		}},
		{name: "generic-garbage-collector", rules: []rbacv1.PolicyRule{
			allow("get list watch patch update delete", "*", "*"),
			events,
		}},
		{name: "horizontal-pod-autoscaler", rules: []rbacv1.PolicyRule{
			allow(read, "autoscaling", "horizontalpodautoscalers"),
			allow("update", "autoscaling", "horizontalpodautoscalers/status"),
			allow("get update", "*", "*/scale"),
			allow("list watch", core, "pods"),
			allow("list watch", "metrics.k8s.io", "pods"),
			allow(read, "custom.metrics.k8s.io", "*"),
			allow(read, "external.metrics.k8s.io", "*"),
			events,
		}},
		{name: "kube-apiserver-serving-clustertrustbundle-publisher", rules: []rbacv1.PolicyRule{
			allow("attest", certificates, "signers", "kubernetes.io/kube-apiserver-serving"),
			allow("create update delete list watch", certificates, "clustertrustbundles"),
			events,
		}},
		{name: "job-controller", rules: []rbacv1.PolicyRule{
			allow("get list watch update patch", "batch", "jobs"),
			allow("update", "batch", "jobs/status"),
			allow("update", "batch", "jobs/finalizers"),
			allow("list watch create delete patch", core, "pods"),
			events,
		}},
		{name: "legacy-service-account-token-cleaner", rules: []rbacv1.PolicyRule{
			allow("get", core, "configmaps", tokenTrackingConfigMap),
			allow("patch delete", core, "secrets"),
		}},
		{name: "namespace-controller", rules: []rbacv1.PolicyRule{
			allow("get list watch delete", core, "namespaces"),
			allow("update", core, "namespaces/finalize namespaces/status"),
			allow("get list delete deletecollection watch", "*", "*"),
		}},
		{name: "node-controller", rules: []rbacv1.PolicyRule{
			allow("get list watch update delete patch", core, "nodes"),
			allow(patching, core, "nodes/status"),
			allow(patching, core, "pods/status"),
			allow("get list watch delete", core, "pods"),
			allow(read, "coordination.k8s.io", "leases"),
			events,
		}},
		{name: "persistent-volume-binder", rules: []rbacv1.PolicyRule{
			allow("get list watch update create delete", core, "persistentvolumes"),
			allow("update", core, "persistentvolumes/status"),
			allow(readUpdate, core, "persistentvolumeclaims"),
			allow("update", core, "persistentvolumeclaims/status"),
			allow("list watch get create delete", core, "pods"),
			allow(read, storage, "storageclasses"),
			allow("list watch", core, "nodes"),
			events,
			allow("watch", core, "events"),
		}},
		{name: "pod-garbage-collector", rules: []rbacv1.PolicyRule{
			allow("list watch delete", core, "pods"),
			allow(read, core, "nodes"),
			allow("patch", core, "pods/status"),
		}},
		{name: "pv-protection-controller", rules: []rbacv1.PolicyRule{
			allow(readUpdate, core, "persistentvolumes"),
			events,
		}},
		{name: "podcertificaterequestcleaner", rules: []rbacv1.PolicyRule{
			allow("get list watch delete", certificates, "podcertificaterequests"),
		}},
		{name: "pvc-protection-controller", rules: []rbacv1.PolicyRule{
			allow(readUpdate, core, "persistentvolumeclaims"),
			allow("update", core, "persistentvolumeclaims/status"),
			allow(read, core, "pods"),
			events,
		}},
		{name: "replicaset-controller", rules: []rbacv1.PolicyRule{
			allow(readUpdate, appsOld, "replicasets"),
			allow("update", appsOld, "replicasets/status"),
			allow("update", appsOld, "replicasets/finalizers"),
			allow("list watch create delete patch", core, "pods"),
			events,
		}},
		{name: "replication-controller", rules: []rbacv1.PolicyRule{
			allow(readUpdate, core, "replicationcontrollers"),
			allow("update", core, "replicationcontrollers/status"),
			allow("update", core, "replicationcontrollers/finalizers"),
			allow("list watch create delete patch", core, "pods"),
			events,
		}},
		{name: "resource-claim-controller", rules: []rbacv1.PolicyRule{
			allow(read, core, "pods"),
			allow("update", core, "pods/finalizers"),
			allow("get list watch create delete", resource, "resourceclaims"),
			allow(patching, resource, "resourceclaims resourceclaims/status"),
			allow(patching, core, "pods/status"),
			events,
			allow(patching, resource, "resourceclaims/binding"),
		}},
		{name: "resourcequota-controller", rules: []rbacv1.PolicyRule{
			allow("list watch", "*", "*"),
			allow("update", core, "resourcequotas/status"),
			events,
		}},
		{name: "root-ca-cert-publisher", rules: []rbacv1.PolicyRule{
			allow("create update", core, "configmaps"),
			events,
		}},
		{name: "route-controller", rules: []rbacv1.PolicyRule{
			allow("list watch", core, "nodes"),
			allow("patch", core, "nodes/status"),
			events,
		}},
		{name: "selinux-warning-controller", rules: []rbacv1.PolicyRule{
			events,
			allow(read, core, "persistentvolumes"),
			allow(read, core, "persistentvolumeclaims"),
			allow(read, core, "pods"),
			allow(read, storage, "csidrivers"),
		}},
		{name: "service-account-controller", rules: []rbacv1.PolicyRule{
			allow("create", core, "serviceaccounts"),
			events,
		}},
		{name: "service-cidrs-controller", rules: []rbacv1.PolicyRule{
			allow("get list watch patch update", networking, "servicecidrs"),
			allow(patching, networking, "servicecidrs/finalizers"),
			allow(patching, networking, "servicecidrs/status"),
			allow(read, networking, "ipaddresses"),
			events,
		}},
		{name: "service-controller", rules: []rbacv1.PolicyRule{
			allow(read, core, "services"),
			allow(patching, core, "services/status"),
			allow("list watch", core, "nodes"),
			events,
		}},
		{name: "statefulset-controller", rules: []rbacv1.PolicyRule{
			allow("list watch", core, "pods"),
			allow(read, "apps", "statefulsets"),
			allow("update", "apps", "statefulsets/status"),
			allow("update", "apps", "statefulsets/finalizers"),
			allow("get create delete update patch", core, "pods"),
			allow(manage, "apps", "controllerrevisions"),
			allow("get list watch create", core, "persistentvolumeclaims"),
			allow("update delete", core, "persistentvolumeclaims"),
			allow("update", core, "pods/finalizers"),
			events,
		}},
		{name: "storage-version-migrator-controller", rules: []rbacv1.PolicyRule{
			allow("list patch", "*", "*"),
			allow("get", "apiextensions.k8s.io", "customresourcedefinitions"),
			allow("patch", "apiextensions.k8s.io", "customresourcedefinitions/status"),
			allow("update", "storagemigration.k8s.io", "storageversionmigrations/status"),
		}},
		{name: "ttl-after-finished-controller", rules: []rbacv1.PolicyRule{
			allow("get list watch delete", "batch", "jobs"),
			events,
		}},
		{name: "ttl-controller", rules: []rbacv1.PolicyRule{
			allow("list watch patch update", core, "nodes"),
			events,
		}},
		{name: "validatingadmissionpolicy-status-controller", rules: []rbacv1.PolicyRule{
			allow(read, admissionregistration, "validatingadmissionpolicies"),
			allow("get patch update", admissionregistration, "validatingadmissionpolicies/status"),
			events,
		}},
		{name: "volumeattributesclass-protection-controller", rules: []rbacv1.PolicyRule{
			allow(read, core, "persistentvolumeclaims"),
			allow(read, core, "persistentvolumes"),
			allow(readUpdate, storage, "volumeattributesclasses"),
			events,
		}},
	}
	for i := range roles {
		roles[i].name = controllerPrefix + roles[i].name
	}
	return roles
}
