// Package core has the kinds of API group "" (core), which is the legacy group, served below /api.
package core

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/core/pod"
	"github.com/miniapi-dev/miniapi/pkg/registry/core/service"
	declarativev1 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/core/v1"
)

// Group is the core group, whose name is "". It is served below /api.
var Group = registry.Group{
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: corev1.AddToScheme, AddValidations: declarativev1.RegisterValidations, Priority: 1},
	},
	Priority: 18000,
	Kinds: []registry.Kind{
		pod.BindingKind,
		componentStatusKind,
		configMapKind,
		endpointsKind,
		eventKind,
		limitRangeKind,
		namespaceKind,
		nodeKind,
		persistentVolumeClaimKind,
		persistentVolumeKind,
		pod.Kind,
		podTemplateKind,
		replicationControllerKind,
		resourceQuotaKind,
		secretKind,
		serviceAccountKind,
		service.Kind,
	},
}
