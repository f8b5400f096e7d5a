package certificatesigningrequests

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/url"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

func TestSignerRules(t *testing.T) {
	t.Parallel()
	const (
		signature, encipherment = certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment
		client, server          = certificatesv1.UsageClientAuth, certificatesv1.UsageServerAuth
		kubelet, serving        = certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeletServingSignerName
		other, legacy           = certificatesv1.KubeAPIServerClientSignerName, certificatesv1beta1.LegacyUnknownSignerName
	)
	node := func(change func(*x509.CertificateRequest)) *x509.CertificateRequest {
		r := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:n", Organization: []string{"system:nodes"}}}
		change(r)
		return r
	}
	plain := func(*x509.CertificateRequest) {}
	named := func(r *x509.CertificateRequest) { r.DNSNames = []string{"n"} }
	for _, test := range []struct {
		name, reason, signer string
		change               func(*x509.CertificateRequest)
		usages               []certificatesv1.KeyUsage
		want                 string
	}{
		{"kubelet", "a certificate with an RSA key may have the usage key encipherment", kubelet, plain,
			[]certificatesv1.KeyUsage{signature, encipherment, client}, ""},
		{"kubelet, another key", "a certificate with another key doesn't have the usage key encipherment", kubelet,
			plain, []certificatesv1.KeyUsage{signature, client}, ""},
		{"kubelet that serves", "another signer issues serving certificates", kubelet, plain,
			[]certificatesv1.KeyUsage{signature, server},
			"usages did not match [client auth digital signature key encipherment]"},
		{"kubelet of a group", "a node has exactly one group", kubelet,
			func(r *x509.CertificateRequest) { r.Subject.Organization = nil }, nil,
			"subject organization is not system:nodes"},
		{"kubelet with a name", "a client certificate has no DNS names", kubelet, named, nil, "DNS subjectAltNames are not allowed"},
		{"kubelet with an address", "a client certificate has no IP addresses", kubelet,
			func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{net.IPv6loopback} }, nil,
			"IP subjectAltNames are not allowed"},
		{"kubelet with mail", "a client certificate has no mail addresses", kubelet,
			func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"a@b"} }, nil,
			"Email subjectAltNames are not allowed"},
		{"kubelet with a URI", "a client certificate has no URIs", kubelet,
			func(r *x509.CertificateRequest) { r.URIs = []*url.URL{{Host: "h"}} }, nil,
			"URI subjectAltNames are not allowed"},
		{"another user", "the user name of a node has a prefix", kubelet,
			func(r *x509.CertificateRequest) { r.Subject.CommonName = "n" }, nil,
			"subject common name does not begin with system:node:"},
		{"serving", "a serving certificate has the name of the server", serving, named, []certificatesv1.KeyUsage{signature, server}, ""},
		{"serving nowhere", "clients check the name of the server", serving, plain,
			[]certificatesv1.KeyUsage{signature, server}, "DNS or IP subjectAltName is required"},
		{"serving as a client", "another signer issues client certificates", serving, named,
			[]certificatesv1.KeyUsage{signature, client},
			"usages did not match [digital signature key encipherment server auth]"},
		{"client", "only the usage client auth is required", other, named, []certificatesv1.KeyUsage{client}, ""},
		{"client that serves", "the signer issues only client certificates", other, plain,
			[]certificatesv1.KeyUsage{client, server}, "invalid usage for client certificate: server auth"},
		{"no client", "a certificate without the usage client auth is useless", other, plain,
			[]certificatesv1.KeyUsage{signature}, "missing required usage for client certificate: client auth"},
		{"legacy", "the legacy signer checks nothing", legacy, named, []certificatesv1.KeyUsage{server}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := signers[test.signer](node(test.change), sets.New(test.usages...)); got != test.want {
				t.Errorf("%s: want %q, got %q", test.reason, test.want, got)
			}
		})
	}
}

func TestWhenRequestsAreOver(t *testing.T) {
	t.Parallel()
	created := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	judged := metav1.NewTime(created.Add(time.Minute))
	for _, test := range []struct {
		name, reason string
		kind         certificatesv1.RequestConditionType
		certificate  string
		want         time.Time
	}{
		{"pending", "an approver has a day to approve the request", "", "", created.Add(24 * time.Hour)},
		{"denied", "a client has an hour to read the refusal", certificatesv1.CertificateDenied, "", judged.Add(time.Hour)},
		{"failed", "a client has an hour to read the failure", certificatesv1.CertificateFailed, "", judged.Add(time.Hour)},
		{"approved", "a signer has a day to issue the certificate", certificatesv1.CertificateApproved, "", judged.Add(24 * time.Hour)},
		{"issued", "a client has an hour to read the certificate", certificatesv1.CertificateApproved, "issued", judged.Add(time.Hour)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: created}}
			csr.Status.Certificate = []byte(test.certificate)
			if test.kind != "" {
				csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: test.kind, LastUpdateTime: judged}}
			}
			if got := overAt(csr); !got.Equal(test.want) {
				t.Errorf("%s: want %s, got %s", test.reason, test.want, got)
			}
		})
	}
}
