package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestSigningRequestsOfEachVersion(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	table, err := registry.NewTable(Group)
	if err != nil {
		t.Fatal(err)
	}
	strategy := table.Strategy(table.Row(certificatesv1.Resource("certificatesigningrequests")), registry.Dependencies{})
	const legacy = "kubernetes.io/legacy-unknown"
	for _, test := range []struct {
		name, reason, version, signer string
		request                       []byte
		usages                        []certificatesv1.KeyUsage
		want                          []string
	}{{
		name: "v1 with the legacy signer", reason: "v1 requires a signer", version: "v1", signer: legacy,
		request: data, usages: []certificatesv1.KeyUsage{"client auth", "client auth"},
		want: []string{"spec.usages[1]", "spec.signerName"},
	}, {
		name: "v1beta1 with the legacy signer", reason: "the legacy signer is the default in v1beta1", version: "v1beta1", signer: legacy,
		request: data, usages: []certificatesv1.KeyUsage{"client auth", "client auth", "another"},
	}, {
		name: "v1beta1 with nothing right", reason: "every version checks the other fields", version: "v1beta1", signer: "signer",
		want: []string{"spec.request", "spec.usages", "spec.signerName"},
	}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx := genericapirequest.WithRequestInfo(t.Context(), &genericapirequest.RequestInfo{APIGroup: "certificates.k8s.io", APIVersion: test.version})
			var got []string
			for _, err := range strategy.Validate(ctx, &certificatesv1.CertificateSigningRequest{
				ObjectMeta: metav1.ObjectMeta{Name: "r"},
				Spec: certificatesv1.CertificateSigningRequestSpec{Request: test.request, SignerName: test.signer,
					Usages: test.usages},
			}) {
				got = append(got, err.Field)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestCertificateSigningRequestColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "approved and denied", Reason: "Denied takes precedence over Approved, and Failed and Issued are added",
			Object: &certificatesv1.CertificateSigningRequest{
				ObjectMeta: registrytest.MonthOld("x"),
				Spec:       certificatesv1.CertificateSigningRequestSpec{Username: "u", ExpirationSeconds: ptr.To[int32](3600)},
				Status: certificatesv1.CertificateSigningRequestStatus{
					Conditions: []certificatesv1.CertificateSigningRequestCondition{
						{Type: certificatesv1.CertificateApproved}, {Type: certificatesv1.CertificateDenied},
						{Type: certificatesv1.CertificateFailed},
					},
					Certificate: []byte("c"),
				},
			},
			Want: []any{"x", "30d", "<none>", "u", "60m", "Denied,Failed,Issued"},
		},
	})
}

func TestCertificateSigningRequestCreation(t *testing.T) {
	t.Parallel()
	registrytest.CheckPrepared(t, registrytest.Table(t, Group), []registrytest.PrepareCase{
		{
			Name: "identity and status", Reason: "the server sets the user of the request and ignores the status",
			Object: &certificatesv1.CertificateSigningRequest{
				Spec: certificatesv1.CertificateSigningRequestSpec{Username: "root",
					Groups: []string{"system:masters"}, SignerName: "s"},
				Status: certificatesv1.CertificateSigningRequestStatus{Conditions: []certificatesv1.CertificateSigningRequestCondition{{Type: "Approved"}}},
			},
			Want: &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
				Username: "jane", UID: "u", Groups: []string{"g"},
				Extra: map[string]certificatesv1.ExtraValue{"k": {"v"}}, SignerName: "s",
			}},
		},
	})
}

func TestCertificateSigningRequestStatusUpdate(t *testing.T) {
	t.Parallel()
	long := metav1.NewTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	request := func(conditions ...certificatesv1.CertificateSigningRequestCondition) *certificatesv1.CertificateSigningRequest {
		return &certificatesv1.CertificateSigningRequest{Status: certificatesv1.CertificateSigningRequestStatus{Conditions: conditions}}
	}
	registrytest.CheckPrepared(t, registrytest.Table(t, Group), []registrytest.PrepareCase{
		{
			Name: "conditions", Reason: "the status endpoint keeps approvals, and keeps the transition time of an unchanged condition",
			Object: request(
				certificatesv1.CertificateSigningRequestCondition{Type: "Approved", Status: "True", Reason: "forged"},
				certificatesv1.CertificateSigningRequestCondition{Type: "Failed", Status: "True", LastUpdateTime: long},
			),
			Status: true, Old: request(
				certificatesv1.CertificateSigningRequestCondition{Type: "Approved", Status: "True", Reason: "given", LastUpdateTime: long, LastTransitionTime: long},
				certificatesv1.CertificateSigningRequestCondition{Type: "Failed", Status: "True", LastTransitionTime: long},
			),
			Want: request(
				certificatesv1.CertificateSigningRequestCondition{Type: "Approved", Status: "True", Reason: "given", LastUpdateTime: long, LastTransitionTime: long},
				certificatesv1.CertificateSigningRequestCondition{Type: "Failed", Status: "True", LastUpdateTime: long, LastTransitionTime: long},
			),
		},
	})
}

// TestContradictingConditions checks that a request isn't approved and denied, which a marker in the Go type declares.
func TestContradictingConditions(t *testing.T) {
	t.Parallel()
	table := registrytest.Table(t, Group)
	request := func(types ...certificatesv1.RequestConditionType) *certificatesv1.CertificateSigningRequest {
		r := &certificatesv1.CertificateSigningRequest{}
		for _, t := range types {
			r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: t})
		}
		return r
	}
	s := registrytest.Strategy(t, table, request())
	both := request(certificatesv1.CertificateApproved, certificatesv1.CertificateDenied)
	errs := s.ValidateDeclaratively(t.Context(), both, request(certificatesv1.CertificateApproved), nil, operation.Update, rest.DeclarativeValidationConfig{})
	registrytest.WantErrors(t, "a request is approved or denied", errs,
		`status.conditions: Invalid value: "{conditions[{\"type\": \"Approved\"}], conditions[{\"type\": \"Denied\"}]}": `+
			"must specify at most one of: `conditions[{\"type\": \"Approved\"}]`, `conditions[{\"type\": \"Denied\"}]`")
}

func TestCertificateSigningRequestErrors(t *testing.T) {
	t.Parallel()
	request := func(certificate string, conditions ...certificatesv1.CertificateSigningRequestCondition) *certificatesv1.CertificateSigningRequest {
		for i := range conditions {
			conditions[i].Status = corev1.ConditionTrue
		}
		return &certificatesv1.CertificateSigningRequest{ObjectMeta: registrytest.ClusterStored("r"),
			Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: "e.com/s",
				Usages: []certificatesv1.KeyUsage{certificatesv1.UsageAny}},
			Status: certificatesv1.CertificateSigningRequestStatus{Certificate: []byte(certificate), Conditions: conditions}}
	}
	approved := certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateApproved}
	denied := certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateDenied}
	reworded := approved
	reworded.Message, reworded.Reason = "m", "r"
	failed := certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateFailed}
	for _, tc := range []struct {
		name, reason string
		errs         field.ErrorList
		want         []string
	}{{
		name: "reworded approval", reason: "an approver may change the reason and the message",
		errs: validateCertificateSigningRequestApprovalUpdate(request("", reworded), request("", approved)),
	}, {
		name: "signer's changes", reason: "a signer neither decides nor forgets, and issues once",
		errs: validateCertificateSigningRequestUpdate(request(string(pem.EncodeToMemory(&pem.Block{Type: "KEY"})), approved),
			request("c", denied, failed)),
		want: []string{
			`status.certificate: Invalid value: "<certificate data>": only CERTIFICATE PEM blocks are allowed, found "KEY"`,
			`status.conditions: Forbidden: updates may not remove a condition of type "Denied"`,
			`status.conditions: Forbidden: updates may not remove a condition of type "Failed"`,
			`status.conditions: Forbidden: updates may not add a condition of type "Approved"`,
			"status.certificate: Forbidden: updates may not modify existing certificate content",
		},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, tc.errs, tc.want...)
		})
	}
}
