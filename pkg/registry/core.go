package registry

import (
	corev1 "k8s.io/api/core/v1"
)

// core is the legacy group, served below /api.
var core = Group{
	Versions: []Version{
		{Name: "v1", AddToScheme: corev1.AddToScheme},
	},
	Kinds: []Kind{
		{
			Resource:   "bindings",
			Namespaced: true,
			Object:     &corev1.Binding{},
			Storage:    newLegacyBinding,
		},
		{
			Resource:   "componentstatuses",
			ShortNames: []string{"cs"},
			Object:     &corev1.ComponentStatus{},
			Storage:    newComponentStatuses,
		},
		{
			Resource:   "configmaps",
			ShortNames: []string{"cm"},
			Namespaced: true,
			Object:     &corev1.ConfigMap{}, List: &corev1.ConfigMapList{},
			CreateOnUpdate: true,
		},
		{
			Resource:   "endpoints",
			ShortNames: []string{"ep"},
			Namespaced: true,
			Object:     &corev1.Endpoints{}, List: &corev1.EndpointsList{},
			StoragePrefix:  "services/endpoints",
			CreateOnUpdate: true,
		},
		{
			Resource:   "events",
			ShortNames: []string{"ev"},
			Namespaced: true,
			Object:     &corev1.Event{}, List: &corev1.EventList{},
			CreateOnUpdate: true,
			TTL:            func(deps Dependencies) uint64 { return uint64(deps.EventTTL.Seconds()) },
		},
		{
			Resource:   "limitranges",
			ShortNames: []string{"limits"},
			Namespaced: true,
			Object:     &corev1.LimitRange{}, List: &corev1.LimitRangeList{},
			CreateOnUpdate: true,
		},
		{
			Resource:   "namespaces",
			ShortNames: []string{"ns"},
			Object:     &corev1.Namespace{}, List: &corev1.NamespaceList{},
			Status:        true,
			ReturnDeleted: true,
			Hooks:         namespaceHooks,
			Subresources:  []Subresource{{Name: "finalize", Storage: newFinalize}},
			Storage:       newNamespaceStorage,
		},
		{
			Resource:   "nodes",
			ShortNames: []string{"no"},
			Object:     &corev1.Node{}, List: &corev1.NodeList{},
			StoragePrefix: "minions",
			Status:        true,
			Subresources: []Subresource{
				proxySubresource(func(o *corev1.NodeProxyOptions) string { return o.Path }, locateNodes),
			},
		},
		{
			Resource:   "persistentvolumeclaims",
			ShortNames: []string{"pvc"},
			Namespaced: true,
			Object:     &corev1.PersistentVolumeClaim{}, List: &corev1.PersistentVolumeClaimList{},
			Status: true,
		},
		{
			Resource:   "persistentvolumes",
			ShortNames: []string{"pv"},
			Object:     &corev1.PersistentVolume{}, List: &corev1.PersistentVolumeList{},
			Status:        true,
			ReturnDeleted: true,
		},
		{
			Resource:   "pods",
			ShortNames: []string{"po"},
			Categories: []string{"all"},
			Namespaced: true,
			Object:     &corev1.Pod{}, List: &corev1.PodList{},
			Status:        true,
			Generation:    true,
			ReturnDeleted: true,
			Subresources: []Subresource{
				sessionSubresource("attach", attachSession),
				{Name: "binding", Storage: newBinding},
				{Name: "ephemeralcontainers", Storage: podEphemeralContainers.storage},
				{Name: "eviction", Storage: newEviction},
				sessionSubresource("exec", execSession),
				{Name: "log", Storage: newLog},
				sessionSubresource("portforward", portForwardSession),
				proxySubresource(func(o *corev1.PodProxyOptions) string { return o.Path }, locatePods),
				{Name: "resize", Storage: podResize.storage},
			},
		},
		{
			Resource:   "podtemplates",
			Namespaced: true,
			Object:     &corev1.PodTemplate{}, List: &corev1.PodTemplateList{},
			Generation:    true,
			ReturnDeleted: true,
		},
		{
			Resource:   "replicationcontrollers",
			ShortNames: []string{"rc"},
			Categories: []string{"all"},
			Namespaced: true,
			Object:     &corev1.ReplicationController{}, List: &corev1.ReplicationControllerList{},
			StoragePrefix:    "controllers",
			Status:           true,
			Generation:       true,
			OrphanDependents: true,
			Subresources: []Subresource{scaleSubresource(func(c *corev1.ReplicationController) scaled {
				return scaled{&c.Spec.Replicas, c.Status.Replicas, selectorOf(c.Spec.Selector)}
			})},
		},
		{
			Resource:   "resourcequotas",
			ShortNames: []string{"quota"},
			Namespaced: true,
			Object:     &corev1.ResourceQuota{}, List: &corev1.ResourceQuotaList{},
			Status:        true,
			ReturnDeleted: true,
		},
		{
			Resource:   "secrets",
			Namespaced: true,
			Object:     &corev1.Secret{}, List: &corev1.SecretList{},
		},
		{
			Resource:   "serviceaccounts",
			ShortNames: []string{"sa"},
			Namespaced: true,
			Object:     &corev1.ServiceAccount{}, List: &corev1.ServiceAccountList{},
			ReturnDeleted: true,
			Subresources:  []Subresource{{Name: "token", Storage: newToken}},
		},
		{
			Resource:   "services",
			ShortNames: []string{"svc"},
			Categories: []string{"all"},
			Namespaced: true,
			Object:     &corev1.Service{}, List: &corev1.ServiceList{},
			StoragePrefix: "services/specs",
			Status:        true,
			ReturnDeleted: true,
			Subresources: []Subresource{
				proxySubresource(func(o *corev1.ServiceProxyOptions) string { return o.Path }, locateServices),
			},
		},
	},
}
