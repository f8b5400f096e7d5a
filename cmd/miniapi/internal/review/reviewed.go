package review

import (
	"context"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/requests"
)

// reviewed is the request that the webhook reviews.
type reviewed struct {
	*requests.Maker
	admin kubernetes.Interface
	// username is the name of the user that makes the request.
	username string
}

func newReviewed(ctx context.Context, config *rest.Config, request requests.Request, webhook Webhook) (*reviewed, error) {
	m := &reviewed{}
	var err error
	if m.admin, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	as := rest.CopyConfig(config)
	as.Impersonate = request.As
	user, err := kubernetes.NewForConfig(as)
	if err != nil {
		return nil, err
	}
	self, err := user.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	m.username = self.Status.UserInfo.Username
	_, lists, err := m.admin.Discovery().ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // if only some groups fail, use the others
		return nil, err
	}
	all := requests.NewCatalog(lists)
	if m.Maker, err = requests.New(requests.Server{Config: config, Catalog: all}, request); err != nil {
		return nil, err
	}
	if versions := all.Versions(m.At()); !webhook.Version.Empty() && !slices.Contains(versions, webhook.Version.String()) {
		return nil, unfit("--webhook-version %q: must be a version in which the server has %s: %s", webhook.Version, m.At(), strings.Join(versions, ", "))
	}
	return m, nil
}

// missing returns a hint about --old if the request failed because an object doesn't exist and the flags name no stored
// object. Otherwise, it returns "".
func (m *reviewed) missing(err error) string {
	if !m.Stored() && apierrors.IsNotFound(err) {
		return ": give --old, the object before the request"
	}
	return ""
}

// concerns tells whether a review belongs to the request. The server's controllers also make requests, and their
// reviews don't belong to it.
func (m *reviewed) concerns(request *admissionv1.AdmissionRequest) bool {
	if request.UserInfo.Username != m.username {
		return false
	}
	return !m.Collection || slices.ContainsFunc(m.Objects, func(o *unstructured.Unstructured) bool { return o.GetName() == nameOf(request) })
}

// nameOf returns the name of the object of a review. The review of the deletion of a collection has no name, so nameOf
// reads the name from the object.
func nameOf(request *admissionv1.AdmissionRequest) string {
	if request.Name != "" {
		return request.Name
	}
	object := &unstructured.Unstructured{}
	for _, raw := range [][]byte{request.OldObject.Raw, request.Object.Raw} {
		if len(raw) > 0 && object.UnmarshalJSON(raw) == nil && object.GetName() != "" {
			return object.GetName()
		}
	}
	return ""
}

// configurationName is the name of the webhook's configuration.
const configurationName = "review"

// register creates the webhook configuration. Its rule has the operation and the resource of the request.
func (m *reviewed) register(ctx context.Context, sent *listening, webhook Webhook) error {
	resource, version := m.At().Resource, m.At().GroupVersion()
	if m.At().Subresource != "" {
		resource += "/" + m.At().Subresource
	}
	policy := admissionregistrationv1.Exact
	if !webhook.Version.Empty() {
		policy, version = admissionregistrationv1.Equivalent, webhook.Version
	}
	none, fail := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	client := admissionregistrationv1.WebhookClientConfig{URL: &sent.url, CABundle: sent.ca}
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationType(m.Operation)},
		Rule: admissionregistrationv1.Rule{APIGroups: []string{version.Group},
			APIVersions: []string{version.Version}, Resources: []string{resource}},
	}}
	timeout := ptr.To(int32(webhook.Timeout.Seconds()))
	object, versions, configurations := metav1.ObjectMeta{Name: configurationName}, []string{webhook.ReviewVersion}, m.admin.AdmissionregistrationV1()
	var err error
	if webhook.Validating {
		_, err = configurations.ValidatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: object, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: webhookName, ClientConfig: client, Rules: rules, MatchPolicy: &policy, SideEffects: &none,
				FailurePolicy: &fail, AdmissionReviewVersions: versions, TimeoutSeconds: timeout,
			}},
		}, metav1.CreateOptions{})
		return err
	}
	_, err = configurations.MutatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: object, Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: webhookName, ClientConfig: client, Rules: rules, MatchPolicy: &policy, SideEffects: &none,
			FailurePolicy: &fail, AdmissionReviewVersions: versions, TimeoutSeconds: timeout,
		}},
	}, metav1.CreateOptions{})
	return err
}
