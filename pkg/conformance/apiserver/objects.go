package apiserver

import "github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"

// The resources that several files use.
var (
	leases      = trial.Resource{Group: "coordination.k8s.io", Version: "v1", Name: "leases", Kind: "Lease", Namespaced: true}
	limitRanges = trial.Resource{Version: "v1", Name: "limitranges", Kind: "LimitRange", Namespaced: true}
	nodes       = trial.Resource{Version: "v1", Name: "nodes", Kind: "Node"}
)

// template returns the spec of a pod that never runs, because no scheduler has its schedulerName.
func template() trial.Object {
	return trial.Object{
		"schedulerName": "conformance.miniapi.dev", "serviceAccountName": "conformance", "automountServiceAccountToken": false,
		"containers": []any{trial.Object{"name": "main", "image": "conformance.invalid/main:1"}},
	}
}

// deployment returns a Deployment without replicas.
func deployment(t *trial.T, name string) trial.Object {
	labels := trial.Object{"app": name}
	o := t.Object(trial.Deployments, name)
	o["spec"] = trial.Object{
		"replicas": 0, "selector": trial.Object{"matchLabels": labels},
		"template": trial.Object{"metadata": trial.Object{"labels": labels}, "spec": template()},
	}
	return o.Copy()
}

// pod creates a pod that never runs.
func pod(t *trial.T, name string) trial.Object {
	t.Create(trial.ServiceAccounts, t.Object(trial.ServiceAccounts, "conformance")).OK()
	o := t.Object(trial.Pods, name)
	o["spec"] = template()
	return t.Create(trial.Pods, o.Copy()).OK()
}

// autoscaler returns a HorizontalPodAutoscaler. It has only fields that exist in all versions.
func autoscaler(t *trial.T, r trial.Resource, name string) trial.Object {
	o := t.Object(r, name)
	o["spec"] = trial.Object{"maxReplicas": 3, "scaleTargetRef": trial.Object{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}
	return o.Copy()
}
