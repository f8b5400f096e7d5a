package service

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

var serviceFields = registry.FieldsOf[*corev1.Service]{
	Values: func(s *corev1.Service) fields.Set {
		return fields.Set{"spec.clusterIP": s.Spec.ClusterIP, "spec.type": string(s.Spec.Type)}
	},
	Names: []string{"spec.clusterIP", "spec.type"},
}
