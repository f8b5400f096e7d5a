package review

import (
	"context"
	"encoding/json"
	"fmt"
	"path"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/retry"
)

// maker prepares the server for a request, and makes the request.
type maker struct {
	Request
	admin, user kubernetes.Interface
	// main is the object of the resource. It differs from Object if Object is that of a subresource.
	main    *unstructured.Unstructured
	mapping *meta.RESTMapping
}

func newMaker(config *rest.Config, request Request) (*maker, error) {
	m := &maker{Request: request, main: request.Object}
	if request.Old != nil {
		m.main = request.Old
	}
	var err error
	if m.admin, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	as := rest.CopyConfig(config)
	as.Impersonate.UserName, as.Impersonate.Groups = request.User, request.Groups
	if m.user, err = kubernetes.NewForConfig(as); err != nil {
		return nil, err
	}
	groups, err := restmapper.GetAPIGroupResources(m.admin.Discovery())
	if err != nil {
		return nil, err
	}
	gvk := m.main.GroupVersionKind()
	if m.mapping, err = restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
		return nil, fmt.Errorf("%w: --apply has the definitions of custom resources", err)
	}
	for _, object := range []*unstructured.Unstructured{request.Object, request.Old} {
		if object != nil && m.namespaced() && object.GetNamespace() == "" {
			object.SetNamespace(metav1.NamespaceDefault)
		}
	}
	return m, nil
}

func (m *maker) namespaced() bool { return m.mapping.Scope.Name() == meta.RESTScopeNameNamespace }

// path returns the path of the resource. With elements, it is the path of an object or of a subresource.
func (m *maker) path(elements ...string) string {
	gvr := m.mapping.Resource
	parts := []string{"/apis", gvr.Group, gvr.Version}
	if gvr.Group == "" {
		parts = []string{"/api", gvr.Version}
	}
	if m.namespaced() {
		parts = append(parts, "namespaces", m.main.GetNamespace())
	}
	return path.Join(append(append(parts, gvr.Resource), elements...)...)
}

// object returns the path of the request's object or subresource.
func (m *maker) object() string { return m.path(m.main.GetName(), m.Subresource) }

// prepare creates the objects that the request needs: the namespace, and the object, unless the request creates it.
func (m *maker) prepare(ctx context.Context) error {
	if m.namespaced() {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.main.GetNamespace()}}
		if _, err := m.admin.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	if m.Operation == admissionv1.Create && m.Subresource == "" {
		return nil
	}
	before := m.main.DeepCopy()
	before.SetResourceVersion("")
	before.SetUID("")
	created := &unstructured.Unstructured{}
	err := m.send(ctx, m.admin, "POST", m.path(), before, created)
	if apierrors.IsAlreadyExists(err) { // --apply has created the object
		return nil
	}
	if err != nil {
		return err
	}
	m.main.SetName(created.GetName())
	status, found := before.Object["status"]
	if !found {
		return nil
	}
	// A controller of the server may write the status at the same time.
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := m.send(ctx, m.admin, "GET", m.path(m.main.GetName()), nil, created); err != nil {
			return err
		}
		created.Object["status"] = status
		return m.send(ctx, m.admin, "PUT", m.path(m.main.GetName(), "status"), created, nil)
	})
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil // the resource has no subresource status, so the create has stored the status
	}
	return err
}

// register creates a webhook configuration that selects only the request.
func (m *maker) register(ctx context.Context, sent *listening, webhook Webhook) error {
	resource, version := m.mapping.Resource.Resource, m.mapping.Resource.GroupVersion()
	if m.Subresource != "" {
		resource += "/" + m.Subresource
	}
	policy := admissionregistrationv1.Exact
	if !webhook.Version.Empty() {
		policy, version = admissionregistrationv1.Equivalent, webhook.Version
	}
	none, fail := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	client := admissionregistrationv1.WebhookClientConfig{URL: &sent.url, CABundle: sent.ca}
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationType(m.Operation)},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{version.Group}, APIVersions: []string{version.Version}, Resources: []string{resource}},
	}}
	object, versions, configurations := metav1.ObjectMeta{Name: "review"}, []string{webhook.ReviewVersion}, m.admin.AdmissionregistrationV1()
	var err error
	if webhook.Validating {
		_, err = configurations.ValidatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: object, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: webhookName, ClientConfig: client, Rules: rules, MatchPolicy: &policy, SideEffects: &none, FailurePolicy: &fail, AdmissionReviewVersions: versions,
			}},
		}, metav1.CreateOptions{})
		return err
	}
	_, err = configurations.MutatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: object, Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: webhookName, ClientConfig: client, Rules: rules, MatchPolicy: &policy, SideEffects: &none, FailurePolicy: &fail, AdmissionReviewVersions: versions,
		}},
	}, metav1.CreateOptions{})
	return err
}

// make makes the request, and returns the error of the request.
func (m *maker) make(ctx context.Context) error {
	switch m.Operation {
	case admissionv1.Create:
		if m.Subresource != "" {
			return m.send(ctx, m.user, "POST", m.object(), m.Object, nil)
		}
		return m.send(ctx, m.user, "POST", m.path(), m.Object, nil)
	case admissionv1.Update:
		body, err := m.updated(ctx)
		if err != nil {
			return err
		}
		return m.send(ctx, m.user, "PUT", m.object(), body, nil)
	case admissionv1.Delete:
		return m.send(ctx, m.user, "DELETE", m.object(), nil, nil)
	}
	return m.connect(ctx)
}

// connect makes a CONNECT request for the object. If the request's object has the options of the connection, such as
// PodExecOptions, they become parameters of the request.
func (m *maker) connect(ctx context.Context) error {
	options := map[string]any{"stdout": true, "command": "true"}
	if m.Object.GetKind() != m.main.GetKind() {
		options = m.Object.Object
	}
	subpath, _ := options["path"].(string)
	request := m.user.Discovery().RESTClient().Post().AbsPath(path.Join(m.object(), subpath))
	for name, value := range options {
		switch name {
		case "apiVersion", "kind", "metadata", "path":
			continue
		}
		values, ok := value.([]any)
		if !ok {
			values = []any{value}
		}
		for _, v := range values {
			request.Param(name, fmt.Sprint(v))
		}
	}
	return request.Do(ctx).Error()
}

// updated returns the body of an update request. It has the stored object's metadata that a client must keep. If the
// subresource has a kind of its own, as scale has, the body also gets the number of replicas from the object.
func (m *maker) updated(ctx context.Context) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	err := m.send(ctx, m.admin, "GET", m.object(), nil, live)
	if apierrors.IsMethodNotSupported(err) { // the subresource can't be read, as finalize of a namespace
		err = m.send(ctx, m.admin, "GET", m.path(m.main.GetName()), nil, live)
	}
	if err != nil {
		return nil, err
	}
	body := m.Object.DeepCopy()
	if body.GetKind() != live.GetKind() {
		replicas, found, err := unstructured.NestedFieldCopy(body.Object, "spec", "replicas")
		if err != nil || !found {
			return nil, fmt.Errorf("the body of %s/%s must be of kind %s, or have spec.replicas, got kind %s", m.mapping.Resource.Resource, m.Subresource, live.GetKind(), body.GetKind())
		}
		return live, unstructured.SetNestedField(live.Object, replicas, "spec", "replicas")
	}
	body.SetName(live.GetName())
	body.SetNamespace(live.GetNamespace())
	body.SetResourceVersion(live.GetResourceVersion())
	body.SetUID(live.GetUID())
	body.SetCreationTimestamp(live.GetCreationTimestamp())
	body.SetGeneration(live.GetGeneration())
	return body, nil
}

// send sends a request, and decodes the response.
func (m *maker) send(ctx context.Context, client kubernetes.Interface, verb, to string, body, into *unstructured.Unstructured) error {
	request := client.Discovery().RESTClient().Verb(verb).AbsPath(to)
	if m.DryRun && client == m.user {
		request.Param("dryRun", metav1.DryRunAll)
	}
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		request.SetHeader("Content-Type", "application/json").Body(encoded)
	}
	result := request.Do(ctx)
	if err := result.Error(); err != nil { // Error has the server's message, and the error of Raw doesn't
		return err
	}
	answer, err := result.Raw()
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(answer, into)
}
