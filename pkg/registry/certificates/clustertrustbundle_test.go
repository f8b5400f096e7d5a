package certificates

import (
	"crypto/elliptic"
	"crypto/x509"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestClusterTrustBundle(t *testing.T) {
	t.Parallel()
	key := ecKey(t, elliptic.P256())
	authority, other := certificatePEM(t, key, x509.Certificate{IsCA: true}), certificatePEM(t, key, x509.Certificate{IsCA: true})
	leaf := certificatePEM(t, key, x509.Certificate{})
	bundle := func(name, signer, anchors string) *certificatesv1.ClusterTrustBundle {
		return &certificatesv1.ClusterTrustBundle{ObjectMeta: registrytest.ClusterStored(name),
			Spec: certificatesv1.ClusterTrustBundleSpec{SignerName: signer, TrustBundle: anchors}}
	}
	for _, tc := range []struct {
		name, reason string
		errs         field.ErrorList
		want         []string
	}{{
		name: "any", reason: "text between the blocks has no meaning",
		errs: validateClusterTrustBundle(bundle("a", "", "one\n"+authority+"two\n"+other)),
	}, {
		name: "signer's", reason: "the name begins with the name of the signer",
		errs: validateClusterTrustBundle(bundle("e.com:s:a", "e.com/s", authority)),
	}, {
		name: "signer's by another name", reason: "the name of a signer's bundle begins with the name of the signer",
		errs: validateClusterTrustBundle(bundle("a", "e.com/s", authority)),
		want: []string{`metadata.name: Invalid value: "a": ClusterTrustBundle for signerName e.com/s must be named with prefix e.com:s:`},
	}, {
		name: "another signer's name", reason: "a bundle without a signer must not have a signer's name",
		errs: validateClusterTrustBundle(bundle("e.com:s:a", "", authority)),
		want: []string{`metadata.name: Invalid value: "e.com:s:a": ClusterTrustBundle without signer name must not have ":" in its name`},
	}, {
		name: "no domain", reason: "the name of a signer has a domain", errs: validateClusterTrustBundle(bundle("s:a", "s", authority)),
		want: []string{`spec.signerName: Invalid value: "s": must be a fully qualified domain and path of the form 'example.com/signer-name'`},
	}, {
		name: "empty", reason: "an empty bundle would trust no certificate", errs: validateClusterTrustBundle(bundle("a", "", "text")),
		want: []string{`spec.trustBundle: Invalid value: "<value omitted>": at least one trust anchor must be provided`},
	}, {
		name: "duplicate", reason: "a bundle has each anchor once",
		errs: validateClusterTrustBundle(bundle("a", "", authority+other+authority)),
		want: []string{`spec.trustBundle: Invalid value: "<value omitted>": duplicate trust anchor (indices [0 2])`},
	}, {
		name: "no anchors", reason: "every block is checked",
		errs: validateClusterTrustBundle(bundle("a", "", leaf+strings.ReplaceAll(authority, "CERTIFICATE", "KEY")+
			strings.Replace(authority, "-----\n", "-----\nA: b\n\n", 1)+brokenCertificate)),
		want: []string{
			`spec.trustBundle: Invalid value: "<value omitted>": entry 0 does not have the CA bit set`,
			`spec.trustBundle: Invalid value: "<value omitted>": entry 1 has bad block type: KEY`,
			`spec.trustBundle: Invalid value: "<value omitted>": entry 2 has PEM block headers`,
			`spec.trustBundle: Invalid value: "<value omitted>": entry 3 does not parse as X.509`,
		},
	}, {
		name: "too large", reason: "kubelets have to be able to read the bundle",
		errs: validateClusterTrustBundle(bundle("a", "", strings.Repeat("x", 1<<20+1))),
		want: []string{`spec.trustBundle: Too long: may not be more than 1048576 bytes`},
	}, {
		name: "another signer", reason: "pods already trust the bundle of this signer",
		errs: validateClusterTrustBundleUpdate(bundle("a", "e.com/s", authority), bundle("a", "", authority)),
		want: []string{
			`metadata.name: Invalid value: "a": ClusterTrustBundle for signerName e.com/s must be named with prefix e.com:s:`,
			`spec.signerName: Invalid value: "e.com/s": field is immutable`,
		},
	}, {
		name: "kept", reason: "a certificate that an older server accepted stays valid",
		errs: validateClusterTrustBundleUpdate(bundle("a", "", brokenCertificate), bundle("a", "", brokenCertificate)),
	}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, tc.errs, tc.want...)
		})
	}
}

func TestClusterTrustBundleColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "no signer", Reason: "a bundle without a signer shows <none>",
			Object: &certificatesv1.ClusterTrustBundle{ObjectMeta: registrytest.MonthOld("x")}, Want: []any{"x", "<none>"},
		},
	})
}

func TestConditionalUpdates(t *testing.T) {
	t.Parallel()
	for _, obj := range []runtime.Object{&certificatesv1.ClusterTrustBundle{}, &certificatesv1beta1.PodCertificateRequest{}} {
		if registrytest.Strategy(t, registrytest.Table(t, Group), obj).AllowUnconditionalUpdate(t.Context()) {
			t.Errorf("a PUT of a %T without a resourceVersion is accepted", obj)
		}
	}
}
