package registry

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1alpha1 "k8s.io/api/certificates/v1alpha1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// certificates are requests for certificates, those of users and those of pods, and
// bundles of the certificates that are trusted.
var certificates = Group{
	Name: "certificates.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: certificatesv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: certificatesv1beta1.AddToScheme, OnDemand: true},
		{Name: "v1alpha1", AddToScheme: certificatesv1alpha1.AddToScheme, OnDemand: true},
	},
	Priority: 17300,
	Kinds: []Kind{
		{
			Resource:   "certificatesigningrequests",
			ShortNames: []string{"csr"},
			Object:     &certificatesv1.CertificateSigningRequest{}, List: &certificatesv1.CertificateSigningRequestList{},
			Defaults:     []Default{DefaultOf(defaults.CertificatesV1beta1CertificateSigningRequest)},
			Status:       true,
			Resets:       []string{"spec"},
			StatusResets: []string{"status.conditions"},
			Printer:      &printers.CertificateSigningRequest,
			Hooks:        signingRequestHooks,
			Fields:       signingRequestFields,
			Subresources: []Subresource{{Name: "approval", Update: updateApproval}},
		},
		{
			Resource: "clustertrustbundles",
			Object:   &certificatesv1.ClusterTrustBundle{}, List: &certificatesv1.ClusterTrustBundleList{},
			Printer: &printers.ClusterTrustBundle,
			Hooks: HooksOf[*certificatesv1.ClusterTrustBundle]{
				Validate:       validation.ClusterTrustBundle,
				ValidateUpdate: validation.ClusterTrustBundleUpdate,
			},
			Fields: trustBundleFields,
		},
		{
			Resource:   "podcertificaterequests",
			Namespaced: true,
			// v1 has no place for the key of a v1beta1 request that has one apart.
			Object: &certificatesv1beta1.PodCertificateRequest{}, List: &certificatesv1beta1.PodCertificateRequestList{},
			Defaults: []Default{
				DefaultOf(defaults.PodCertificateRequest),
				DefaultOf(defaults.CertificatesV1beta1PodCertificateRequest),
			},
			Status:              true,
			StatusKeepsMetadata: true,
			Printer:             &printers.PodCertificateRequest,
			Hooks:               podCertificateRequestHooks,
			Fields:              podCertificateRequestFields,
		},
	},
}
