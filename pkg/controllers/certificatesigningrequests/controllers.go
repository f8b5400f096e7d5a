package certificatesigningrequests

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	certificatesv1client "k8s.io/client-go/kubernetes/typed/certificates/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Account is the name of the service account that all controllers of this package share.
	Account = "certificate-controller"

	// lifetime is the longest lifetime of a certificate. shortest is the shortest lifetime that a request can ask
	// for.
	lifetime = 365 * 24 * time.Hour
	shortest = 10 * time.Minute

	// backdate is the time between the beginning of a certificate's validity and its issue. Because of it, a client
	// whose clock is slow accepts a new certificate. A lifetime of at least short includes backdate, and a shorter
	// lifetime begins at the issue.
	backdate = 5 * time.Minute
	short    = 8 * time.Hour

	// over is the longest time for which an issued, denied or failed request is kept. waiting is the time for which a
	// pending request is kept: a request without a condition, or an approved request without a certificate.
	over    = time.Hour
	waiting = 24 * time.Hour
)

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client certificatesv1client.CertificateSigningRequestsGetter
	// Reviews creates SubjectAccessReviews, which decide whether the user of a request may have the certificate.
	Reviews authorizationv1client.SubjectAccessReviewsGetter
	// Requests is the informer of CertificateSigningRequests.
	Requests cache.SharedIndexInformer
	// Sign issues a certificate for a request, in PEM. The template has the usages and the times of the
	// certificate.
	Sign func(request *x509.CertificateRequest, template *x509.Certificate) ([]byte, error)
}

// handle is the work of a controller on one CertificateSigningRequest. It returns the time after which the
// controller must call handle for the request again, or 0 for never.
type handle func(c *Config, ctx context.Context, csr *certificatesv1.CertificateSigningRequest) (time.Duration, error)

// NewApprover starts the controller that approves requests of kubelets, if their users have one of the permissions
// in approvals.
func NewApprover(c Config) error {
	return c.start("certificatesigningrequest-approving-controller", (*Config).approve)
}

// NewSigner starts the controller that signs approved requests.
func NewSigner(c Config) error {
	return c.start("certificatesigningrequest-signing-controller", (*Config).sign)
}

// NewCleaner starts the controller that deletes old requests.
func NewCleaner(c Config) error {
	return c.start("certificatesigningrequest-cleaner-controller", (*Config).clean)
}

func (c *Config) start(name string, handle handle) error {
	queue := work.NewQueue(c.Runner, work.Options[string]{Name: name, Workers: 5, Do: func(ctx context.Context, key string) (time.Duration, error) {
		obj, exists, err := c.Requests.GetStore().GetByKey(key)
		if err != nil || !exists {
			return 0, err
		}
		return handle(c, ctx, obj.(*certificatesv1.CertificateSigningRequest).DeepCopy())
	}})
	return work.Enqueue(work.Events{Informer: c.Requests, Changed: work.Named(queue.Add)})
}

// approvals are permissions to create a subresource of CertificateSigningRequests. One of these permissions is
// enough: the controller then approves the request of a kubelet. The controller checks the permissions in order.
var approvals = []struct {
	subresource, message string
	self                 bool // the permission is only for a node's request for itself
}{
	{"selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview.", true},
	{"nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview.", false},
}

func (c *Config) approve(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) (time.Duration, error) {
	if len(csr.Status.Certificate) > 0 || has(csr, certificatesv1.CertificateApproved) || has(csr, certificatesv1.CertificateDenied) {
		return 0, nil
	}
	request, err := parse(csr.Spec.Request)
	if err != nil {
		return 0, fmt.Errorf("unable to parse csr %q: %w", csr.Name, err)
	}
	if csr.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName || kubeletClient(request, sets.New(csr.Spec.Usages...)) != "" {
		return 0, nil
	}
	for _, approval := range approvals {
		if approval.self && csr.Spec.Username != request.Subject.CommonName {
			continue
		}
		allowed, err := c.allowed(ctx, csr, approval.subresource)
		if err != nil {
			return 0, err
		}
		if !allowed {
			continue
		}
		csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "AutoApproved", Message: approval.message,
		})
		_, err = c.Client.CertificateSigningRequests().UpdateApproval(ctx, csr.Name, csr, metav1.UpdateOptions{})
		return 0, work.IgnoreStale(err)
	}
	return 0, fmt.Errorf("csr %q is a kubelet's and isn't approved: user %q must have the permission to create certificatesigningrequests/nodeclient, or certificatesigningrequests/selfnodeclient for the user's own node",
		csr.Name, csr.Spec.Username)
}

// allowed reports whether the user of a request may create a subresource of CertificateSigningRequests.
func (c *Config) allowed(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, subresource string) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: csr.Spec.Username, UID: csr.Spec.UID, Groups: csr.Spec.Groups, Extra: map[string]authorizationv1.ExtraValue{},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: certificatesv1.GroupName, Resource: "certificatesigningrequests", Subresource: subresource,
			Verb: "create", Version: "*",
		},
	}}
	for key, value := range csr.Spec.Extra {
		review.Spec.Extra[key] = authorizationv1.ExtraValue(value)
	}
	review, err := c.Reviews.SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

func (c *Config) sign(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) (time.Duration, error) {
	rule, ours := signers[csr.Spec.SignerName]
	if !ours || len(csr.Status.Certificate) > 0 || !has(csr, certificatesv1.CertificateApproved) || has(csr, certificatesv1.CertificateDenied) || has(csr, certificatesv1.CertificateFailed) {
		return 0, nil
	}
	request, err := parse(csr.Spec.Request)
	if err != nil {
		return 0, fmt.Errorf("unable to parse csr %q: %w", csr.Name, err)
	}
	if reason := rule(request, sets.New(csr.Spec.Usages...)); reason != "" {
		csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue, Reason: "SignerValidationFailure",
			Message: reason, LastUpdateTime: metav1.Now(),
		})
	} else if csr.Status.Certificate, err = c.issue(request, csr, time.Now()); err != nil {
		return 0, fmt.Errorf("error auto signing csr: %w", err)
	}
	_, err = c.Client.CertificateSigningRequests().UpdateStatus(ctx, csr, metav1.UpdateOptions{})
	return 0, work.IgnoreStale(err)
}

func (c *Config) issue(request *x509.CertificateRequest, csr *certificatesv1.CertificateSigningRequest, now time.Time) ([]byte, error) {
	ttl := lifetime
	if asked := csr.Spec.ExpirationSeconds; asked != nil {
		ttl = min(lifetime, max(shortest, time.Duration(*asked)*time.Second))
	}
	template := &x509.Certificate{NotBefore: now.Add(-backdate), NotAfter: now.Add(ttl)}
	if ttl >= short {
		template.NotAfter = template.NotAfter.Add(-backdate)
	}
	if err := setUsages(template, csr.Spec.Usages); err != nil {
		return nil, err
	}
	return c.Sign(request, template)
}

// clean deletes a request that is old enough. For any other request, it returns the time until the request is old
// enough, or 0 for never.
func (c *Config) clean(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) (time.Duration, error) {
	end := overAt(csr)
	if end.IsZero() {
		return 0, nil
	}
	if left := time.Until(end); left > 0 {
		return left, nil
	}
	err := c.Client.CertificateSigningRequests().Delete(ctx, csr.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &csr.UID}})
	return 0, work.IgnoreStale(err)
}

// overAt returns the time at which a request must be deleted. The zero time means never.
func overAt(csr *certificatesv1.CertificateSigningRequest) (end time.Time) {
	sooner := func(from metav1.Time, after time.Duration) {
		if at := from.Add(after); !from.IsZero() && (end.IsZero() || at.Before(end)) {
			end = at
		}
	}
	if len(csr.Status.Conditions) == 0 {
		sooner(csr.CreationTimestamp, waiting)
	}
	for _, condition := range csr.Status.Conditions {
		switch condition.Type {
		case certificatesv1.CertificateDenied, certificatesv1.CertificateFailed:
			sooner(condition.LastUpdateTime, over)
		case certificatesv1.CertificateApproved:
			if len(csr.Status.Certificate) == 0 {
				sooner(condition.LastUpdateTime, waiting)
				continue
			}
			sooner(condition.LastUpdateTime, over)
			if block, _ := pem.Decode(csr.Status.Certificate); block != nil {
				if issued, err := x509.ParseCertificates(block.Bytes); err == nil && len(issued) > 0 {
					sooner(metav1.Time{Time: issued[0].NotAfter}, 0)
				}
			}
		}
	}
	return end
}
