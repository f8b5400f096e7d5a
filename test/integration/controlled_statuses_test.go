package integration_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// seen waits until admission uses the present status of a quota. It writes the quota without a change of the status,
// because the server answers a write only when admission uses the written quota. A read isn't enough: the server may
// return the controller's write before admission uses it.
func seen(t *testing.T, quotas corev1client.ResourceQuotaInterface) {
	t.Helper()
	must(quotas.Patch(t.Context(), "q", types.MergePatchType, []byte(`{"metadata":{"annotations":{"seen":"yes"}}}`), metav1.PatchOptions{}))(t)
}

// If the controller of quotas runs, a quota limits the creation of objects. Deleting an object makes room for
// another object.
func TestQuotaIsMeasured(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("resourcequota"))
	define(t, srv, "widgets", "Widget", "v1")
	client := srv.Client()
	quotas, configMaps := client.CoreV1().ResourceQuotas("default"), client.CoreV1().ConfigMaps("default")
	must(configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "before"}}, metav1.CreateOptions{}))(t)
	hard := corev1.ResourceList{
		corev1.ResourceConfigMaps: resource.MustParse("2"), corev1.ResourceRequestsCPU: resource.MustParse("1"),
		"count/widgets.example.com": resource.MustParse("1"), "count/nothing.example.com": resource.MustParse("1"),
	}
	must(quotas.Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}, metav1.CreateOptions{}))(t)
	uses := func(maps, cpu, widgets string) {
		t.Helper()
		want := map[corev1.ResourceName]string{"configmaps": maps, "requests.cpu": cpu, "count/widgets.example.com": widgets}
		eventually(t, func(ctx context.Context) error {
			q, err := quotas.Get(ctx, "q", metav1.GetOptions{})
			if err != nil {
				return err
			}
			got := map[corev1.ResourceName]string{}
			for name, used := range q.Status.Used {
				got[name] = used.String()
			}
			if diff := cmp.Diff(want, got); diff != "" || len(q.Status.Hard) != len(hard) {
				return fmt.Errorf("status.used of the quota with the limits %v (-want +got):\n%s", q.Status.Hard, diff)
			}
			return nil
		})
	}
	uses("1", "0", "0")
	seen(t, quotas)
	must(configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "second"}}, metav1.CreateOptions{}))(t)
	if _, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "third"}}, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("want a third ConfigMap to be refused, got %v", err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("300m")},
	}}}}}
	must(client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}))(t)
	must(resources(srv, "example.com/v1", "widgets").Create(t.Context(), object("example.com/v1", "Widget", "widget", nil), metav1.CreateOptions{}))(t)
	uses("2", "300m", "1")
	ok(t, configMaps.Delete(t.Context(), "before", metav1.DeleteOptions{}))
	ok(t, resources(srv, "example.com/v1", "widgets").Delete(t.Context(), "widget", metav1.DeleteOptions{}))
	must(client.CoreV1().Pods("default").Patch(t.Context(), "pod", types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status"))(t)
	uses("1", "0", "0")
}

// Admission counts objects that are created in quick succession. The controller doesn't measure during that time,
// because some of the objects aren't stored yet.
func TestQuotaCountsWhatIsCreatedInARow(t *testing.T) {
	t.Parallel()
	const created = 100
	srv := miniapitest.Start(t, withControllers("resourcequota"))
	quotas, configMaps := srv.Client().CoreV1().ResourceQuotas("default"), srv.Client().CoreV1().ConfigMaps("default")
	must(quotas.Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{corev1.ResourceConfigMaps: resource.MustParse("1000")},
	}}, metav1.CreateOptions{}))(t)
	used := func(ctx context.Context) (int64, error) {
		q, err := quotas.Get(ctx, "q", metav1.GetOptions{})
		if err != nil {
			return 0, err
		}
		quantity, ok := q.Status.Used[corev1.ResourceConfigMaps]
		if !ok {
			return 0, fmt.Errorf("want status.used of the quota q to have configmaps, got the status %v", q.Status)
		}
		return quantity.Value(), nil
	}
	eventually(t, func(ctx context.Context) error {
		_, err := used(ctx)
		return err
	})
	seen(t, quotas)
	before := must(used(t.Context()))(t)
	for i := range created {
		must(configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("map-", i)}}, metav1.CreateOptions{}))(t)
		if got := must(used(t.Context()))(t); got != before+int64(i)+1 {
			t.Fatalf("want %d used after %d were created, got %d", before+int64(i)+1, i+1, got)
		}
	}
}

// The status of a PodDisruptionBudget has the number of pods that may be evicted. A further eviction is refused.
func TestDisruptionBudget(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("disruption"))
	client := srv.Client()
	labels := map[string]string{"app": "web"}
	one := intstr.FromInt32(1)
	budgets, pods := client.PolicyV1().PodDisruptionBudgets("default"), client.CoreV1().Pods("default")
	must(budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "b"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}, metav1.CreateOptions{}))(t)
	becomes := func(expected, healthy, allowed int32, reason string) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			b, err := budgets.Get(ctx, "b", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if s := b.Status; s.ExpectedPods != expected || s.CurrentHealthy != healthy || s.DisruptionsAllowed != allowed || s.ObservedGeneration != b.Generation ||
				len(s.Conditions) != 1 || s.Conditions[0].Reason != reason {
				return fmt.Errorf("want %d pods, %d healthy, %d evictions, %s; got %+v", expected, healthy, allowed, reason, s)
			}
			return nil
		})
	}
	becomes(0, 0, 0, policyv1.InsufficientPodsReason)
	for _, name := range []string{"a", "b"} {
		must(pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c"}}}}, metav1.CreateOptions{}))(t)
		must(pods.Patch(t.Context(), name, types.MergePatchType, []byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`), metav1.PatchOptions{}, "status"))(t)
	}
	becomes(2, 2, 1, policyv1.SufficientPodsReason)
	evict := func(name string) error {
		return pods.EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}})
	}
	ok(t, evict("a"))
	becomes(1, 1, 0, policyv1.InsufficientPodsReason)
	if err := evict("b"); !apierrors.IsTooManyRequests(err) {
		t.Errorf("want the eviction of the last pod to be refused, got %v", err)
	}
}

// A ClusterRole with an aggregationRule gets the present rules of the selected roles.
func TestClusterRolesAreAggregated(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("clusterrole-aggregation"))
	roles := srv.Client().RbacV1().ClusterRoles()
	reads := []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{"example.com"}, Resources: []string{"widgets"}}}
	part := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "widgets-view", Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}}, Rules: reads}
	has := func(want bool) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			// The role admin aggregates the rules of edit, and edit aggregates the rules of view.
			for _, name := range []string{"view", "edit", "admin"} {
				role, err := roles.Get(ctx, name, metav1.GetOptions{})
				if err != nil {
					return err
				}
				found := false
				for _, rule := range role.Rules {
					found = found || cmp.Equal(rule, reads[0])
				}
				if found != want {
					return fmt.Errorf("ClusterRole %s: has the rule: want %t, got the rules %v", name, want, role.Rules)
				}
			}
			return nil
		})
	}
	must(roles.Create(t.Context(), part, metav1.CreateOptions{}))(t)
	has(true)
	ok(t, roles.Delete(t.Context(), part.Name, metav1.DeleteOptions{}))
	has(false)
}

// requestOf returns a certificate request in PEM, and the key of the certificate.
func requestOf(t *testing.T, subject pkix.Name) (request, key []byte) {
	t.Helper()
	private := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	der := must(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, private))(t)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), must(keyutil.MarshalPrivateKeyToPEM(private))(t)
}

// The controllers approve the certificate requests of kubelets, and sign approved requests for the signers of
// Kubernetes by the server's authority. The server trusts the certificates.
func TestCertificateSigningRequests(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("csrapproving", "csrsigning"))
	requests := srv.Client().CertificatesV1().CertificateSigningRequests()
	create := func(client kubernetes.Interface, name, signer string, subject pkix.Name, usages ...certificatesv1.KeyUsage) (*certificatesv1.CertificateSigningRequest, []byte) {
		t.Helper()
		request, key := requestOf(t, subject)
		return must(client.CertificatesV1().CertificateSigningRequests().Create(t.Context(), &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: certificatesv1.CertificateSigningRequestSpec{Request: request, SignerName: signer,
				Usages: usages, ExpirationSeconds: new(int32(3600))},
		}, metav1.CreateOptions{}))(t), key
	}
	approve := func(csr *certificatesv1.CertificateSigningRequest) {
		t.Helper()
		csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"})
		must(requests.UpdateApproval(t.Context(), csr.Name, csr, metav1.UpdateOptions{}))(t)
	}
	user := func(name string, key []byte) string {
		t.Helper()
		var csr *certificatesv1.CertificateSigningRequest
		eventually(t, func(ctx context.Context) (err error) {
			if csr, err = requests.Get(ctx, name, metav1.GetOptions{}); err == nil && len(csr.Status.Certificate) == 0 {
				err = fmt.Errorf("want a certificate in CertificateSigningRequest %s, got the status %v", name, csr.Status)
			}
			return err
		})
		block, _ := pem.Decode(csr.Status.Certificate)
		issued := must(x509.ParseCertificate(block.Bytes))(t)
		if lifetime := issued.NotAfter.Sub(issued.NotBefore); lifetime != time.Hour+5*time.Minute {
			t.Errorf("%s: want a certificate for an hour, from 5 minutes ago on; it is valid for %s", name, lifetime)
		}
		config := rest.AnonymousClientConfig(srv.Config())
		config.CertData, config.KeyData = csr.Status.Certificate, key
		review := must(kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{}))(t)
		return review.Status.UserInfo.Username
	}

	csr, key := create(srv.Client(), "jane", certificatesv1.KubeAPIServerClientSignerName, pkix.Name{CommonName: "jane"}, certificatesv1.UsageClientAuth)
	approve(csr)
	if got := user("jane", key); got != "jane" {
		t.Errorf("want the certificate to be of jane, got %s", got)
	}

	bootstrapper := kubernetes.NewForConfigOrDie(srv.AddUser("bootstrapper", "bootstrappers"))
	for _, role := range []string{"system:node-bootstrapper", "system:certificates.k8s.io:certificatesigningrequests:nodeclient"} {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "bootstrappers-"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "bootstrappers"}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		}
		must(srv.Client().RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}))(t)
	}
	node := pkix.Name{CommonName: "system:node:n", Organization: []string{"system:nodes"}}
	_, key = create(bootstrapper, "node", certificatesv1.KubeAPIServerClientKubeletSignerName, node, certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature)
	if got := user("node", key); got != "system:node:n" {
		t.Errorf("want the certificate to be of the node, got %s", got)
	}
	if approved := must(requests.Get(t.Context(), "node", metav1.GetOptions{}))(t).Status.Conditions; len(approved) != 1 || approved[0].Reason != "AutoApproved" {
		t.Errorf("want the request to be approved by the controller, got %v", approved)
	}

	wrong, _ := create(srv.Client(), "wrong", certificatesv1.KubeletServingSignerName, node, certificatesv1.UsageServerAuth, certificatesv1.UsageDigitalSignature)
	approve(wrong)
	eventually(t, func(ctx context.Context) error {
		csr, err := requests.Get(ctx, "wrong", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if c := csr.Status.Conditions; len(c) != 2 || c[1].Type != certificatesv1.CertificateFailed || c[1].Message != "DNS or IP subjectAltName is required" {
			return fmt.Errorf("want a condition Failed with the reason of the signer, got the conditions %v", c)
		}
		return nil
	})
}
