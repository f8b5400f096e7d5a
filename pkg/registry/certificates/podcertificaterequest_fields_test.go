package certificates

import (
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestPodCertificateRequestFields(t *testing.T) {
	t.Parallel()
	kind := certificatesv1.SchemeGroupVersion.WithKind("PodCertificateRequest")
	registrytest.CheckFieldLabels(t, registrytest.Table(t, Group), []registrytest.FieldLabelCase{
		{Name: "namespace", Reason: "kube-apiserver supports no other metadata than the name", Kind: kind,
			Label: "metadata.namespace", Err: "field label not supported: metadata.namespace"},
		{Name: "name", Reason: "each kind supports the name", Kind: kind, Label: "metadata.name", Want: "metadata.name"},
	})
}
