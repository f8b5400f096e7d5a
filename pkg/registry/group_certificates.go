package registry

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// certificates are requests for certificates, approved through a subresource.
var certificates = Group{
	Name: "certificates.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: certificatesv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: certificatesv1beta1.AddToScheme, OnDemand: true},
	},
	Kinds: []Kind{
		{
			Resource:   "certificatesigningrequests",
			ShortNames: []string{"csr"},
			Object:     &certificatesv1.CertificateSigningRequest{}, List: &certificatesv1.CertificateSigningRequestList{},
			Status:       true,
			Resets:       []string{"spec"},
			StatusResets: []string{"status.conditions"},
			Printer:      &printers.CertificateSigningRequest,
			Hooks:        signingRequestHooks,
			Fields:       signingRequestFields,
			Subresources: []Subresource{{Name: "approval", Storage: newApproval}},
		},
	},
}
