package certificates

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// certificatePEM returns a self-signed certificate, made from the template, as a PEM block.
func certificatePEM(t *testing.T, key crypto.Signer, template x509.Certificate) string {
	t.Helper()
	template.SerialNumber = big.NewInt(1)
	template.BasicConstraintsValid = true
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func ecKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func rsaKey(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// brokenCertificate is a PEM block whose content isn't a certificate.
const brokenCertificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

// podRequest returns a request that is valid except that it has no key. It applies the function change to the
// request.
func podRequest(change func(*certificatesv1beta1.PodCertificateRequest)) *certificatesv1beta1.PodCertificateRequest {
	r := &certificatesv1beta1.PodCertificateRequest{ObjectMeta: registrytest.Stored("request"), Spec: certificatesv1beta1.PodCertificateRequestSpec{
		SignerName: "e.com/s", PodName: "pod", PodUID: "1", ServiceAccountName: "account", ServiceAccountUID: "2",
		NodeName: "node", NodeUID: "3", MaxExpirationSeconds: ptr.To[int32](7200),
	}}
	change(r)
	return r
}

func stub(t *testing.T, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func subjectPublicKey(t *testing.T, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// proof returns a signature that proves the possession of the private key.
func proof(t *testing.T, key crypto.Signer, uid string) []byte {
	t.Helper()
	digest := sha256.Sum256([]byte(uid))
	message, options := digest[:], crypto.SignerOpts(crypto.SHA256)
	switch key.(type) {
	case ed25519.PrivateKey:
		message, options = []byte(uid), crypto.Hash(0)
	case *rsa.PrivateKey:
		options = &rsa.PSSOptions{Hash: crypto.SHA256}
	}
	signature, err := key.Sign(rand.Reader, message, options)
	if err != nil {
		t.Fatal(err)
	}
	return signature
}

func TestPodCertificateRequestKeys(t *testing.T) {
	t.Parallel()
	p256, p224 := ecKey(t, elliptic.P256()), ecKey(t, elliptic.P224())
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsa2048, rsa3072 := rsaKey(t, 2048), rsaKey(t, 3072)
	forged := stub(t, p256)
	forged[len(forged)-1] ^= 1
	oneOfThem := []string{"spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set"}
	for _, tc := range []struct {
		name, reason      string
		stub, pkix, proof []byte
		want              []string
	}{
		{name: "stub", reason: "the signature of the stub proves possession", stub: stub(t, p256)},
		{name: "stub of RSA", reason: "RSA keys of 3072 bits are valid", stub: stub(t, rsa3072)},
		{name: "P256", reason: "v1beta1 has the key in a field of its own", pkix: subjectPublicKey(t, p256), proof: proof(t, p256, "1")},
		{name: "P521", reason: "the curve is strong enough, but the proof is wrong", pkix: subjectPublicKey(t, ecKey(t, elliptic.P521())), proof: []byte("x"),
			want: []string{"spec.proofOfPossession: Invalid value: could not verify proof-of-possession signature"}},
		{name: "Ed25519", reason: "Ed25519 signs the message without hashing it", pkix: subjectPublicKey(t, ed), proof: proof(t, ed, "1")},
		{name: "RSA", reason: "RSA signs with PSS", pkix: subjectPublicKey(t, rsa3072), proof: proof(t, rsa3072, "1")},
		{name: "nothing", reason: "the request has no key", want: oneOfThem},
		{name: "both", reason: "only one of the keys can count", stub: stub(t, p256), pkix: subjectPublicKey(t, p256),
			proof: proof(t, p256, "1"), want: oneOfThem},
		{name: "stub and key", reason: "only one of the keys can count", stub: stub(t, p256),
			pkix: subjectPublicKey(t, p256), want: oneOfThem},
		{name: "no proof", reason: "a public key alone proves nothing", pkix: subjectPublicKey(t, p256), want: oneOfThem},
		{name: "proof of nothing", reason: "the request has no key", proof: proof(t, p256, "1"), want: oneOfThem},
		{name: "no stub", reason: "the stub isn't PKCS#10", stub: []byte("x"),
			want: []string{"spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR"}},
		{name: "forged stub", reason: "the signature is not by the key", stub: forged,
			want: []string{"spec.stubPKCS10Request: Invalid value: invalid signature"}},
		{name: "no key", reason: "the key isn't PKIX", pkix: []byte("x"), proof: []byte("x"),
			want: []string{`spec.pkixPublicKey: Invalid value: "eA==": must be a valid PKIX-serialized public key`}},
		{name: "another pod's proof", reason: "a proof for one pod must not work for another", pkix: subjectPublicKey(t, p256), proof: proof(t, p256, "2"),
			want: []string{"spec.proofOfPossession: Invalid value: could not verify proof-of-possession signature"}},
		{name: "weak curve", reason: "the curve is too weak", pkix: subjectPublicKey(t, p224), proof: proof(t, p224, "1"),
			want: []string{`spec.pkixPublicKey: Invalid value: "curve P-224": elliptic public keys must use curve P256 or P384`}},
		{name: "stub of a weak curve", reason: "the curve is too weak", stub: stub(t, p224),
			want: []string{`spec.stubPKCS10Request: Invalid value: "curve P-224": elliptic public keys must use curve P256, P384, or P521`}},
		{name: "weak RSA", reason: "the key is too weak", stub: stub(t, rsa2048),
			want: []string{`spec.stubPKCS10Request: Invalid value: "2048-bit modulus": RSA keys must have modulus size 3072 or 4096`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, validatePodCertificateRequest(podRequest(func(r *certificatesv1beta1.PodCertificateRequest) {
				r.Spec.StubPKCS10Request, r.Spec.PKIXPublicKey, r.Spec.ProofOfPossession = tc.stub, tc.pkix, tc.proof
			})), tc.want...)
		})
	}
}

func TestPodCertificateRequest(t *testing.T) {
	t.Parallel()
	request := stub(t, ecKey(t, elliptic.P256()))
	for _, tc := range []struct {
		name, reason string
		change       func(*certificatesv1beta1.PodCertificateRequestSpec)
		want         []string
	}{{
		name: "nothing", reason: "all fields are required", change: func(s *certificatesv1beta1.PodCertificateRequestSpec) {
			*s = certificatesv1beta1.PodCertificateRequestSpec{SignerName: "e.com/s", PodName: "p", ServiceAccountName: "a", NodeName: "n"}
		}, want: []string{
			`spec.podUID: Invalid value: "": must not be empty`, `spec.serviceAccountUID: Invalid value: "": must not be empty`,
			`spec.nodeUID: Invalid value: "": must not be empty`, "spec.maxExpirationSeconds: Required value: must be set",
		},
	}, {
		name: "too short", reason: "signers would be overloaded",
		change: func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.MaxExpirationSeconds = ptr.To[int32](3599) },
		want:   []string{"spec.maxExpirationSeconds: Invalid value: 3599: must be in the range [3600, 7862400]"},
	}, {
		name: "too long for Kubernetes", reason: "Kubernetes' own signers issue certificates for a day at most", change: func(s *certificatesv1beta1.PodCertificateRequestSpec) {
			s.SignerName, s.MaxExpirationSeconds = "kubernetes.io/kube-apiserver-client-pod", ptr.To[int32](86401)
		},
		want: []string{"spec.maxExpirationSeconds: Invalid value: 86401: must be in the range [3600, 86400]"},
	}, {
		name: "annotation without a domain", reason: "names of annotations belong to signers", change: func(s *certificatesv1beta1.PodCertificateRequestSpec) {
			s.UnverifiedUserAnnotations = map[string]string{"key": "value", "e.com/key": "value"}
		},
		want: []string{`spec.unverifiedUserAnnotations: Invalid value: "key": must be a domain-prefixed key (such as "acme.io/foo")`},
	}, {
		name: "long annotations", reason: "annotations are stored with the request", change: func(s *certificatesv1beta1.PodCertificateRequestSpec) {
			s.UnverifiedUserAnnotations = map[string]string{"e.com/key": strings.Repeat("x", 256<<10)}
		},
		want: []string{"spec.unverifiedUserAnnotations: Too long: may not be more than 262144 bytes"},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, validatePodCertificateRequest(podRequest(func(r *certificatesv1beta1.PodCertificateRequest) {
				r.Spec.StubPKCS10Request = request
				tc.change(&r.Spec)
			})), tc.want...)
		})
	}
	old, changed := podRequest(func(*certificatesv1beta1.PodCertificateRequest) {}), podRequest(func(r *certificatesv1beta1.PodCertificateRequest) { r.Spec.PodName = "another" })
	if errs := validatePodCertificateRequestUpdate(changed, old); len(errs) != 1 || errs[0].Field != "spec" || errs[0].Detail != "field is immutable" {
		t.Errorf("another pod: %v", errs)
	}
}

func TestPodCertificateRequestStatus(t *testing.T) {
	t.Parallel()
	key, other := ecKey(t, elliptic.P256()), ecKey(t, elliptic.P256())
	begin := time.Now().Truncate(time.Second)
	issue := func(key crypto.Signer, begin time.Time, lifetime time.Duration) certificatesv1beta1.PodCertificateRequestStatus {
		end := begin.Add(lifetime)
		return certificatesv1beta1.PodCertificateRequestStatus{
			Conditions:       []metav1.Condition{{Type: "Issued", Status: metav1.ConditionTrue, Reason: "R", LastTransitionTime: metav1.Now()}},
			CertificateChain: certificatePEM(t, key, x509.Certificate{NotBefore: begin, NotAfter: end}),
			NotBefore:        &metav1.Time{Time: begin}, BeginRefreshAt: &metav1.Time{Time: begin.Add(lifetime / 2)},
			NotAfter: &metav1.Time{Time: end},
		}
	}
	issued := issue(key, begin, time.Hour)
	with := func(change func(*certificatesv1beta1.PodCertificateRequestStatus)) certificatesv1beta1.PodCertificateRequestStatus {
		status := issued.DeepCopy()
		change(status)
		return *status
	}
	for _, tc := range []struct {
		name, reason string
		old, status  certificatesv1beta1.PodCertificateRequestStatus
		want         []string
	}{
		{name: "issued", reason: "the first certificate of the chain has the key", status: issued},
		{name: "with intermediates", reason: "a TLS handshake needs the intermediates", status: with(func(s *certificatesv1beta1.PodCertificateRequestStatus) {
			s.CertificateChain += certificatePEM(t, other, x509.Certificate{IsCA: true})
		})},
		{name: "pending", reason: "a request without an answer is valid"},
		{name: "denied", reason: "a refusal is an answer", status: certificatesv1beta1.PodCertificateRequestStatus{
			Conditions: []metav1.Condition{{Type: "Denied", Status: metav1.ConditionTrue, Reason: "R", LastTransitionTime: metav1.Now()}}}},
		{name: "answered before", reason: "the kubelet has read the answer", old: issued, status: certificatesv1beta1.PodCertificateRequestStatus{},
			want: []string{"status: Invalid value: immutable after PodCertificateRequest is issued, denied, or failed"}},
		{name: "two answers", reason: "only one answer can count", status: with(func(s *certificatesv1beta1.PodCertificateRequestStatus) {
			s.Conditions = append(s.Conditions, metav1.Condition{Type: "Failed", Status: metav1.ConditionTrue, Reason: "R", LastTransitionTime: metav1.Now()})
		}), want: []string{`status.conditions.[1].type: Invalid value: There may be at most one condition with type "Issued", "Denied", or "Failed"`}},
		{name: "not issued", reason: "a condition is always true", status: with(func(s *certificatesv1beta1.PodCertificateRequestStatus) {
			s.Conditions[0].Status = metav1.ConditionFalse
		}),
			want: []string{`status.conditions.[0].status: Unsupported value: supported values: "True"`}},
		{name: "other condition", reason: "the API has three types of conditions", status: with(func(s *certificatesv1beta1.PodCertificateRequestStatus) { s.Conditions[0].Type = "Ready" }),
			want: []string{`status.conditions.[0].type: Unsupported value: supported values: "Issued", "Denied", "Failed"`}},
		{name: "certificate of a denial", reason: "pods would not use the certificate", status: with(func(s *certificatesv1beta1.PodCertificateRequestStatus) { s.Conditions[0].Type = "Denied" }),
			want: []string{"status: Invalid value: non-condition status fields must be empty when denying or failing the PodCertificateRequest"}},
		{name: "certificate without an answer", reason: "the kubelet waits for the condition", status: with(func(s *certificatesv1beta1.PodCertificateRequestStatus) { s.Conditions = nil }),
			want: []string{`status: Invalid value: status is immutable unless transitioning to "Issued", "Denied", or "Failed"`}},
		{name: "no chain", reason: "the condition requires a certificate", status: with(func(s *certificatesv1beta1.PodCertificateRequestStatus) { s.CertificateChain = "" }),
			want: []string{"status.certificateChain: Invalid value: issued certificate chain must contain at least one certificate"}},
		{name: "long chain", reason: "the chain is stored with the request", status: with(func(s *certificatesv1beta1.PodCertificateRequestStatus) {
			s.CertificateChain = strings.Repeat("x", 100<<10+1)
		}), want: []string{"status.certificateChain: Too long: may not be more than 102400 bytes"}},
		{name: "no certificate", reason: "a chain has certificates only", status: with(func(s *certificatesv1beta1.PodCertificateRequestStatus) {
			s.CertificateChain = strings.ReplaceAll(s.CertificateChain, "CERTIFICATE", "KEY")
		}), want: []string{"status.certificateChain: Invalid value: issued certificate chain must consist entirely of CERTIFICATE PEM blocks"}},
		{name: "broken certificate", reason: "the pod could not read the chain", status: with(func(s *certificatesv1beta1.PodCertificateRequestStatus) {
			s.CertificateChain = brokenCertificate
		}), want: []string{"status.certificateChain: Invalid value: leaf certificate does not parse as valid X.509"}},
		{name: "broken intermediate", reason: "a TLS handshake would fail", status: with(func(s *certificatesv1beta1.PodCertificateRequestStatus) {
			s.CertificateChain += brokenCertificate
		}), want: []string{"status.certificateChain: Invalid value: intermediate certificate does not parse as valid X.509"}},
		{name: "key as an intermediate", reason: "a TLS handshake would fail", status: with(func(s *certificatesv1beta1.PodCertificateRequestStatus) {
			s.CertificateChain += strings.ReplaceAll(brokenCertificate, "CERTIFICATE", "KEY")
		}), want: []string{"status.certificateChain: Invalid value: issued certificate chain must consist entirely of CERTFICATE PEM blocks"}},
		{name: "odd names", reason: "verifiers read such names differently", status: with(func(s *certificatesv1beta1.PodCertificateRequestStatus) {
			s.CertificateChain = certificatePEM(t, key, x509.Certificate{
				NotBefore: begin, NotAfter: begin.Add(time.Hour), DNSNames: []string{"", "a..b", ".a", "b."},
				EmailAddresses: []string{"nowhere"}})
		}), want: []string{
			"status.certificateChain: Invalid value: leaf certificate should not contain empty DNSName",
			"status.certificateChain: Invalid value: leaf certificate's DNSName should not contain '..'",
			"status.certificateChain: Invalid value: leaf certificate's DNSName should not start or end with '.'",
			"status.certificateChain: Invalid value: leaf certificate's DNSName should not start or end with '.'",
			"status.certificateChain: Invalid value: leaf certificate should not contain invalid EmailAddress",
		}},
		{name: "another's key", reason: "the pod can't use the certificate", status: issue(other, begin, time.Hour),
			want: []string{"status.certificateChain: Invalid value: leaf certificate was not issued to the requested public key"}},
		{name: "too short", reason: "the kubelet would renew the certificate all the time", status: issue(key, begin, 59*time.Minute),
			want: []string{"status.certificateChain: Invalid value: leaf certificate lifetime must be >= 1 hour"}},
		{name: "too long", reason: "the pod has asked for a shorter validity", status: issue(key, begin, 3*time.Hour),
			want: []string{"status.certificateChain: Invalid value: leaf certificate lifetime must be <= spec.maxExpirationSeconds (7200)"}},
		{name: "backdated", reason: "the clocks differ too much", status: issue(key, begin.Add(-10*time.Minute), time.Hour),
			want: []string{"status.notBefore: Invalid value: must be set to within 5 minutes of kube-apiserver's current time"}},
		{name: "no times", reason: "the kubelet takes the times from the status, not from the certificate", status: with(func(s *certificatesv1beta1.PodCertificateRequestStatus) {
			s.NotBefore, s.BeginRefreshAt, s.NotAfter = nil, nil, nil
		}), want: []string{
			"status.notBefore: Required value: must be present and consistent with the issued certificate",
			"status.notAfter: Required value: must be present and consistent with the issued certificate",
			"status.beginRefreshAt: Required value: must be present and in the range [notbefore+10min, notafter-10min]",
		}},
		{name: "another begin", reason: "the time has to be the same as in the certificate", status: with(func(s *certificatesv1beta1.PodCertificateRequestStatus) { s.NotBefore = s.NotAfter }),
			want: []string{"status.notBefore: Invalid value: must be set to the NotBefore time encoded in the leaf certificate"}},
		{name: "another end", reason: "the time has to be the same as in the certificate", status: with(func(s *certificatesv1beta1.PodCertificateRequestStatus) { s.NotAfter = s.NotBefore }),
			want: []string{"status.notAfter: Invalid value: must be set to the NotAfter time encoded in the leaf certificate"}},
		{name: "early refresh", reason: "signers would be overloaded", status: with(func(s *certificatesv1beta1.PodCertificateRequestStatus) { s.BeginRefreshAt = s.NotBefore }),
			want: []string{"status.beginRefreshAt: Invalid value: must be at least 10 minutes after status.notBefore"}},
		{name: "late refresh", reason: "the kubelet needs time for the refresh", status: with(func(s *certificatesv1beta1.PodCertificateRequestStatus) { s.BeginRefreshAt = s.NotAfter }),
			want: []string{"status.beginRefreshAt: Invalid value: must be at least 10 minutes before status.notAfter"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			request := func(status certificatesv1beta1.PodCertificateRequestStatus) *certificatesv1beta1.PodCertificateRequest {
				return podRequest(func(r *certificatesv1beta1.PodCertificateRequest) {
					r.Spec.StubPKCS10Request, r.Status = stub(t, key), status
				})
			}
			errs := validatePodCertificateRequestStatusUpdate(request(tc.status), request(tc.old))
			for _, err := range errs { // the errors show chains of certificates and times, which differ in each run
				err.BadValue = field.OmitValueType{}
			}
			registrytest.WantErrors(t, tc.reason, errs, tc.want...)
		})
	}
}

func TestPodCertificateRequestColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "denied", Reason: "the type of the request's condition is its state",
			Object: &certificatesv1beta1.PodCertificateRequest{
				ObjectMeta: registrytest.MonthOld("x"),
				Spec: certificatesv1beta1.PodCertificateRequestSpec{PodName: "p", ServiceAccountName: "a",
					NodeName: "n", SignerName: "e.com/s"},
				Status: certificatesv1beta1.PodCertificateRequestStatus{Conditions: []metav1.Condition{{Type: "Denied"}}},
			},
			Want: []any{"x", "p", "a", "n", "e.com/s", "Denied", "<none>"},
		},
	})
}

// TestConversionKeepsFieldsOfHub checks a conversion from v1 into an existing object of v1beta1: fields that v1
// doesn't have keep their values. The admission chain needs this when a webhook changes an object of v1.
func TestConversionKeepsFieldsOfHub(t *testing.T) {
	t.Parallel()
	s := registrytest.Table(t, Group).Scheme()
	hub := registrytest.Decode(t, s, `{apiVersion: certificates.k8s.io/v1beta1, kind: PodCertificateRequest, metadata: {name: r}, spec: {podName: old, pkixPublicKey: a2V5, stubPKCS10Request: b2xk}}`)
	v1 := registrytest.Decode(t, s, `{apiVersion: certificates.k8s.io/v1, kind: PodCertificateRequest, metadata: {name: r}, spec: {podName: new}}`)
	if err := s.Convert(v1, hub, nil); err != nil {
		t.Fatal(err)
	}
	spec := registrytest.At(registrytest.AsMap(t, hub), "spec").(map[string]any)
	for field, want := range map[string]any{"podName": "new", "pkixPublicKey": "a2V5", "stubPKCS10Request": nil} {
		if diff := cmp.Diff(want, spec[field]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
}
