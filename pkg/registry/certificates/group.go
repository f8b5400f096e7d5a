// Package certificates has the kinds of API group certificates.k8s.io: requests for certificates, by users and by pods,
// and bundles of trusted certificates.
package certificates

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1alpha1 "k8s.io/api/certificates/v1alpha1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	declarativev1 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/certificates/v1"
)

// Group is the API group certificates.k8s.io. It has requests for certificates, by users and by pods, and bundles
// of trusted certificates.
var Group = registry.Group{
	Name: "certificates.k8s.io",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: certificatesv1.AddToScheme, AddValidations: declarativev1.RegisterValidations},
		{Name: "v1beta1", AddToScheme: certificatesv1beta1.AddToScheme, OnDemand: true},
		{Name: "v1alpha1", AddToScheme: certificatesv1alpha1.AddToScheme, OnDemand: true, Priority: 1},
	},
	Priority: 17300,
	Kinds: []registry.Kind{
		certificateSigningRequestKind,
		clusterTrustBundleKind,
		podCertificateRequestKind,
	},
}
