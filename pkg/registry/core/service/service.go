// Package service has the kind Service, and allocates the addresses and ports of services.
package service

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/core/connect"
)

// Kind is the row of services in the server's table of kinds.
var Kind = registry.Kind{
	Resource:   "services",
	ShortNames: []string{"svc"},
	Categories: []string{"all"},
	Namespaced: true,
	Object:     &corev1.Service{}, List: &corev1.ServiceList{},
	Defaults:      []registry.Default{registry.DefaultOf(defaultService)},
	StoragePrefix: "services/specs",
	Status:        true,
	ReturnDeleted: true,
	Subresources: []registry.Subresource{
		connect.ProxySubresource(func(o *corev1.ServiceProxyOptions) string { return o.Path }, locate),
	},
	CreateOnUpdate: true,
	Printer:        &serviceColumns,
	Storage:        newServiceStorage,
	Hooks: registry.HooksOf[*corev1.Service]{
		PrepareForUpdate:     dropForType,
		Validate:             validateService,
		ValidateUpdate:       validateServiceUpdate,
		ValidateStatusUpdate: validateServiceStatusUpdate,
		Warnings:             serviceWarnings,
		StatusWarnings:       serviceStatusWarnings,
	},
	Fields: serviceFields,
}

// locate returns the Locator of services/proxy, which prefers endpoints of the family that services get by default.
func locate(services *registry.Storage, deps registry.Dependencies, transports *connect.Transports) (connect.Locator, error) {
	preferred := corev1.IPFamilyUnknown
	nets, err := prefixes(registry.PartOf[Network](deps).ClusterIPs)
	if err != nil {
		return nil, err
	}
	if len(nets) > 0 {
		preferred = familyOf(nets[0].Addr())
	}
	return connect.LocateServices(services, deps, transports, preferred)
}

var serviceFields = registry.FieldsOf[*corev1.Service]{
	Values: func(s *corev1.Service) fields.Set {
		return fields.Set{"spec.clusterIP": s.Spec.ClusterIP, "spec.type": string(s.Spec.Type)}
	},
	Names: []string{"spec.clusterIP", "spec.type"},
}
