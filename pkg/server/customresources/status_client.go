package customresources

import (
	"context"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	crdclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/miniapi-dev/miniapi/pkg/server/direct"
)

// statusClient is the client of the controllers of definitions. Unless the function seen returns true, it writes the
// status of a definition without a request: through admission and directly to the storage. So the definition isn't
// encoded for a request and an answer, and its spec isn't compared. For a definition of some kB, requests would take a
// quarter of the time of the definition's creation.
type statusClient struct {
	crdclient.CustomResourceDefinitionsGetter
	storage rest.Updater
	// The function fields returns the field manager of the status. "manager" is the manager's name in the managed
	// fields.
	fields  func() (*managedfields.FieldManager, error)
	manager string
	// admission admits the writes. "interfaces" has the object interfaces that admission gets.
	admission  admission.Interface
	interfaces admission.ObjectInterfaces
	// seen tells whether any part of the server other than admission needs the requests of the controllers. An audit
	// log, for example, needs them. If seen returns true, statusClient makes requests.
	seen func() bool
	// timeout limits the time of a write, including calls of webhooks.
	timeout time.Duration
}

// newStatusClient returns the controllers' client. If this server doesn't store definitions, newStatusClient returns
// the argument requests, a client that makes requests.
func newStatusClient(c Config, config *genericapiserver.RecommendedConfig, stored *definitionStorage, requests crdclient.CustomResourceDefinitionsGetter) crdclient.CustomResourceDefinitionsGetter {
	if stored == nil {
		return requests
	}
	return &statusClient{
		CustomResourceDefinitionsGetter: requests,
		storage:                         stored.status,
		fields:                          stored.statusFields,
		manager:                         c.StatusManager,
		admission:                       config.AdmissionControl,
		interfaces: &admission.RuntimeObjectInterfaces{
			ObjectCreater: crdserver.Scheme, ObjectTyper: crdserver.Scheme, ObjectDefaulter: crdserver.Scheme,
			ObjectConvertor:          crdserver.Scheme,
			EquivalentResourceMapper: config.EquivalentResourceRegistry,
		},
		seen:    c.Seen,
		timeout: config.RequestTimeout,
	}
}

// CustomResourceDefinitions implements crdclient.CustomResourceDefinitionsGetter.
func (c *statusClient) CustomResourceDefinitions() crdclient.CustomResourceDefinitionInterface {
	return statusWriter{c.CustomResourceDefinitionsGetter.CustomResourceDefinitions(), c}
}

// statusWriter writes the status of definitions, without a request if possible. For everything else, it makes requests.
type statusWriter struct {
	crdclient.CustomResourceDefinitionInterface
	client *statusClient
}

// UpdateStatus implements crdclient.CustomResourceDefinitionInterface.
func (w statusWriter) UpdateStatus(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, options metav1.UpdateOptions) (*apiextensionsv1.CustomResourceDefinition, error) {
	if w.client.seen() {
		return w.CustomResourceDefinitionInterface.UpdateStatus(ctx, crd, options)
	}
	updated, err := w.client.update(ctx, crd, &options)
	if apierrors.IsRequestEntityTooLargeError(err) { // for a request, the server tries again without managed fields
		return w.CustomResourceDefinitionInterface.UpdateStatus(ctx, crd, options)
	}
	return updated, err
}

func (c *statusClient) update(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, options *metav1.UpdateOptions) (*apiextensionsv1.CustomResourceDefinition, error) {
	fields, err := c.fields()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(asServer(ctx, crd.Name), c.timeout)
	defer cancel()
	given, updated := *crd, &apiextensions.CustomResourceDefinition{}
	given.Spec = apiextensionsv1.CustomResourceDefinitionSpec{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&given, updated, nil); err != nil {
		return nil, err
	}
	admitting := fieldmanager.NewManagedFieldsValidatingAdmissionController(c.admission)
	write := rest.DefaultUpdatedObjectInfo(updated, c.managing(fields), c.mutating(admitting, options), c.validating(admitting, options))
	stored, _, err := c.storage.Update(ctx, crd.Name, write, rest.ValidateAllObjectFunc, nil, false, options)
	if err != nil {
		return nil, err
	}
	answer, ok := stored.(*apiextensions.CustomResourceDefinition)
	if !ok {
		return nil, apierrors.NewNotFound(Definitions.GroupResource(), crd.Name)
	}
	result := &apiextensionsv1.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(specless(answer), result, nil); err != nil {
		return nil, err
	}
	result.Spec = crd.Spec // a write of the status never changes the spec
	return result, nil
}

// managing returns a function that sets the managed fields of a definition. A write of the status changes no field of
// the spec, so the managed fields don't depend on the spec. The function computes the managed fields without the spec,
// and then adds the spec of the live definition.
func (c *statusClient) managing(fields *managedfields.FieldManager) rest.TransformFunc {
	return func(_ context.Context, updated, live runtime.Object) (runtime.Object, error) {
		crd, ok := live.(*apiextensions.CustomResourceDefinition)
		if !ok {
			return updated, nil
		}
		managed := fields.UpdateNoErrors(specless(crd), updated, c.manager)
		if whole, ok := managed.(*apiextensions.CustomResourceDefinition); ok {
			whole.Spec = crd.Spec
		}
		return managed, nil
	}
}

func specless(crd *apiextensions.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	without := *crd
	without.Spec = apiextensions.CustomResourceDefinitionSpec{}
	return &without
}

// mutating returns a function that calls the admission plugins that change objects.
func (c *statusClient) mutating(admitting admission.Interface, options *metav1.UpdateOptions) rest.TransformFunc {
	return func(ctx context.Context, updated, live runtime.Object) (runtime.Object, error) {
		plugins, ok := admitting.(admission.MutationInterface)
		if !ok || !plugins.Handles(admission.Update) {
			return updated, nil
		}
		return updated, plugins.Admit(ctx, attributes(ctx, updated, live, objectMeta(updated).GetName(), options), c.interfaces)
	}
}

// validating returns a function that calls the admission plugins that validate objects. The storage could call these
// plugins too, but would first copy both definitions.
func (c *statusClient) validating(admitting admission.Interface, options *metav1.UpdateOptions) rest.TransformFunc {
	return func(ctx context.Context, updated, live runtime.Object) (runtime.Object, error) {
		if was, ok := live.(*apiextensions.CustomResourceDefinition); ok {
			updated.(*apiextensions.CustomResourceDefinition).Spec = was.Spec
		}
		plugins, ok := admitting.(admission.ValidationInterface)
		if !ok || !plugins.Handles(admission.Update) {
			return updated, nil
		}
		return updated, plugins.Validate(ctx, attributes(ctx, updated, live, objectMeta(updated).GetName(), options), c.interfaces)
	}
}

// attributes returns the admission attributes of a write of a definition's status.
func attributes(ctx context.Context, updated, live runtime.Object, name string, options *metav1.UpdateOptions) admission.Attributes {
	writer, _ := request.UserFrom(ctx)
	options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("UpdateOptions"))
	return admission.NewAttributesRecord(updated, live, definitionKind, "", name, Definitions, "status", admission.Update, options, false, writer)
}

// asServer returns a context in which the server itself writes a definition's status.
func asServer(ctx context.Context, name string) context.Context {
	return direct.AsServer(ctx, request.RequestInfo{
		Verb: "update", APIGroup: Definitions.Group, APIVersion: Definitions.Version,
		Resource: Definitions.Resource, Subresource: "status", Name: name,
	})
}
