package bootstrap

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

// A role with one of these labels is a part of the aggregated role admin, edit or view.
const (
	toAdmin = "rbac.authorization.k8s.io/aggregate-to-admin"
	toEdit  = "rbac.authorization.k8s.io/aggregate-to-edit"
	toView  = "rbac.authorization.k8s.io/aggregate-to-view"
)

// userRoles returns the roles for people and for their programs.
func userRoles() []roleSpec {
	const (
		health       = "/healthz /livez /readyz /version /version/"
		apps         = "daemonsets deployments deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale "
		appsStatus   = "controllerrevisions daemonsets/status deployments/status replicasets/status statefulsets/status"
		old          = "daemonsets deployments deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale "
		oldStatus    = "daemonsets/status deployments/status ingresses/status replicasets/status"
		connections  = "pods/attach pods/exec pods/portforward pods/proxy "
		inNamespaces = "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale serviceaccounts services "
	)
	return []roleSpec{
		{name: "cluster-admin", rules: []rbacv1.PolicyRule{
			allow("*", "*", "*"),
			{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
		}},
		{name: "system:discovery", rules: []rbacv1.PolicyRule{paths(health + " /openapi /openapi/* /api /api/* /apis /apis/*")}},
		{name: "system:public-info-viewer", rules: []rbacv1.PolicyRule{paths(health)}},
		{name: "system:monitoring", rules: []rbacv1.PolicyRule{
			paths("/metrics /metrics/slis /livez /livez/* /readyz /readyz/* /healthz /healthz/* /flagz /statusz"),
			allow("get", core, "nodes/metrics"),
		}},
		{name: "system:basic-user", rules: []rbacv1.PolicyRule{
			allow("create", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
			allow("create", "authentication.k8s.io", "selfsubjectreviews"),
		}},

		{name: "admin", aggregates: toAdmin},
		{name: "edit", aggregates: toEdit, into: toAdmin},
		{name: "view", aggregates: toView, into: toEdit},
		{name: "system:aggregate-to-admin", into: toAdmin, rules: []rbacv1.PolicyRule{
			allow("create", "authorization.k8s.io", "localsubjectaccessreviews"),
			allow(readWrite, "rbac.authorization.k8s.io", "roles rolebindings"),
		}},
		{name: "system:aggregate-to-edit", into: toEdit, rules: []rbacv1.PolicyRule{
			allow(read, core, connections+"secrets services/proxy"),
			allow("impersonate", core, "serviceaccounts"),
			allow(write, core, connections+"pods"),
			allow("create", core, "pods/eviction"),
			allow(write, core, inNamespaces+"secrets services/proxy"),
			allow("create", core, "serviceaccounts/token"),
			allow(write, core+" events.k8s.io", "events"),
			allow(write, "apps", apps+"deployments/rollback"),
			allow(write, "autoscaling", "horizontalpodautoscalers"),
			allow(write, "batch", "jobs cronjobs"),
			allow(write, "extensions", old+"deployments/rollback"),
			allow(write, "policy", "poddisruptionbudgets"),
			allow(write, "networking.k8s.io", "ingresses networkpolicies"),
			allow(readWrite, "coordination.k8s.io", "leases"),
			allow(write, "resource.k8s.io", "resourceclaims resourceclaimtemplates"),
		}},
		{name: "system:aggregate-to-view", into: toView, rules: []rbacv1.PolicyRule{
			allow(read, core, inNamespaces+"endpoints persistentvolumeclaims/status pods services/status"),
			allow(read, core,
				"bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status"),
			allow(read, core, "namespaces"),
			allow(read, core+" events.k8s.io", "events"),
			allow(read, "discovery.k8s.io", "endpointslices"),
			allow(read, "apps", apps+appsStatus),
			allow(read, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
			allow(read, "batch", "jobs jobs/status cronjobs cronjobs/status"),
			allow(read, "extensions", old+oldStatus),
			allow(read, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
			allow(read, "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
			allow(read, "resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates"),
		}},
	}
}
