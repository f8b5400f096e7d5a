package review

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

// maker prepares the server for a request, and makes the request.
type maker struct {
	Request
	target

	admin, user kubernetes.Interface
	// username is the name of the user that makes the request.
	username string
	warnings warnings
	// main is the object of the resource. If the request's object is the object of a subresource, main is the parent
	// resource's object, or nil if there is none.
	main *unstructured.Unstructured
}

func newMaker(ctx context.Context, config *rest.Config, request Request, webhook Webhook) (*maker, error) {
	m := &maker{Request: request}
	var err error
	if m.admin, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	as := rest.CopyConfig(config)
	as.Impersonate, as.WarningHandler = request.As, &m.warnings
	if m.user, err = kubernetes.NewForConfig(as); err != nil {
		return nil, err
	}
	self, err := m.user.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	m.username = self.Status.UserInfo.Username
	_, lists, err := m.admin.Discovery().ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // if only some groups fail, use the others
		return nil, err
	}
	all := newCatalog(lists)
	if m.target, err = request.target(all); err != nil {
		return nil, err
	}
	if versions := all.versions(m.at); !webhook.Version.Empty() && !oneOf(webhook.Version.String(), versions) {
		return nil, unfit("--webhook-version %q: must be a version in which the server has %s: %s", webhook.Version, m.at, strings.Join(versions, ", "))
	}
	if err := m.decide(m.target); err != nil {
		return nil, err
	}
	if err := m.Options.check(m); err != nil {
		return nil, err
	}
	return m, m.locate()
}

// locate sets the fields main, namespace and name. Objects without a namespace get the namespace of the request.
func (m *maker) locate() error {
	named := m.Old
	if named == nil {
		named = m.Objects[0]
	}
	if m.stored != nil {
		m.main = named
	}
	for _, object := range append(m.Objects[:len(m.Objects):len(m.Objects)], m.Old) {
		if object != nil && m.at.Namespaced && object.GetNamespace() == "" && !m.at.Connects() {
			object.SetNamespace(cmp.Or(m.Namespace, metav1.NamespaceDefault))
		}
	}
	m.name = cmp.Or(m.Name, named.GetName())
	if m.at.Namespaced {
		m.namespace = cmp.Or(named.GetNamespace(), m.Namespace, metav1.NamespaceDefault)
		if m.main != nil {
			m.main.SetNamespace(m.namespace)
		}
	}
	created := m.Operation == admissionv1.Create && m.at.Subresource == ""
	if m.name == "" && named.GetGenerateName() == "" && (!created || !m.nameless()) {
		if m.at.Connects() {
			return unfit("--name: must name the object of the connection, or --old must have that object")
		}
		flag := "-f"
		if m.Old != nil {
			flag = "--old"
		}
		return unfit("%s: the %s must have metadata.name", flag, named.GetKind())
	}
	return nil
}

// prepare creates the namespace of the request, if the resource has namespaces. It also creates the stored objects that
// the request needs, such as the object before an update.
func (m *maker) prepare(ctx context.Context) error {
	if m.at.Namespaced {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.namespace}}
		if _, err := m.admin.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	if m.main == nil || m.Operation == admissionv1.Create && m.at.Subresource == "" {
		return nil
	}
	before := []*unstructured.Unstructured{m.main}
	if m.Collection {
		before = m.Objects
	}
	for _, object := range before {
		name, err := m.store(ctx, object)
		if err != nil {
			return err
		}
		if object == m.main {
			m.name = cmp.Or(m.Name, name)
		}
		object.SetName(name)
	}
	return nil
}

// store creates the object in its state before the request, and returns the object's name.
func (m *maker) store(ctx context.Context, given *unstructured.Unstructured) (string, error) {
	before, created := given.DeepCopy(), &unstructured.Unstructured{}
	before.SetResourceVersion("")
	before.SetUID("")
	err := m.send(ctx, call{client: m.admin, verb: "POST", path: m.path(*m.stored), body: before}, created)
	if apierrors.IsAlreadyExists(err) { // --apply has created the object
		return given.GetName(), nil
	}
	if err != nil {
		return "", err
	}
	itself := m.path(*m.stored, created.GetName())
	change := func(at string, set func()) error {
		// A controller of the server may write the object at the same time. Repeat the change after a conflict.
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			if err := m.send(ctx, call{client: m.admin, verb: "GET", path: itself}, created); err != nil {
				return err
			}
			set()
			return m.send(ctx, call{client: m.admin, verb: "PUT", path: at, body: created}, nil)
		})
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			return nil // the resource has no subresource status, so the create has stored the status
		}
		return err
	}
	if finalizers := given.GetFinalizers(); len(finalizers) > 0 && !slices.Equal(finalizers, created.GetFinalizers()) {
		// An admission plugin has added finalizers to the new object. Restore the finalizers of the argument.
		if err := change(itself, func() { created.SetFinalizers(finalizers) }); err != nil {
			return "", err
		}
	}
	if status, found := before.Object["status"]; found {
		if err := change(path.Join(itself, "status"), func() { created.Object["status"] = status }); err != nil {
			return "", err
		}
	}
	return created.GetName(), nil
}

// missing returns a hint about --old if the request failed because an object doesn't exist and the flags name no stored
// object. Otherwise, it returns "".
func (m *maker) missing(err error) string {
	if m.main == nil && apierrors.IsNotFound(err) {
		return ": give --old, the object before the request"
	}
	return ""
}

// concerns tells whether a review belongs to the request. The server's controllers also make requests, and their
// reviews don't belong to it.
func (m *maker) concerns(request *admissionv1.AdmissionRequest) bool {
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
func (m *maker) register(ctx context.Context, sent *listening, webhook Webhook) error {
	resource, version := m.at.Resource, m.at.GroupVersion()
	if m.at.Subresource != "" {
		resource += "/" + m.at.Subresource
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

// warnings keeps the warnings in the server's responses.
type warnings struct {
	mu   sync.Mutex
	kept []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(code int, _ string, text string) {
	if code != 299 || text == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, text)
}

func (w *warnings) texts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.kept)
}
