package requests

import (
	"cmp"
	"context"
	"path"
	"slices"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace/resources"
)

// Server is the server that gets the request.
type Server struct {
	// Config has the credentials of an admin, who impersonates the user of the request.
	Config *rest.Config
	// Setup has the credentials with which Prepare stores objects. If it is nil, they are those of Config.
	Setup *rest.Config
	// Catalog has the resources of the server.
	Catalog Catalog
}

// Maker prepares the server for a request, and makes the request.
type Maker struct {
	Request
	target

	admin, setup, user rest.Interface
	warnings           warnings
	// main is the object of the resource. If the request's object is the object of a subresource, main is the parent
	// resource's object, or nil if there is none.
	main *unstructured.Unstructured
}

// New returns a maker of the request. It returns an [InputError] if the request doesn't fit the server. The maker sets
// the namespaces of the request's objects.
func New(server Server, request Request) (*Maker, error) {
	if err := request.Check(); err != nil {
		return nil, err
	}
	m := &Maker{Request: request}
	as := rest.CopyConfig(server.Config)
	as.Impersonate, as.WarningHandler = request.As, &m.warnings
	setup := server.Setup
	if setup == nil {
		setup = server.Config
	}
	for _, client := range []struct {
		to     *rest.Interface
		config *rest.Config
	}{{&m.admin, server.Config}, {&m.setup, setup}, {&m.user, as}} {
		made, err := discovery.NewDiscoveryClientForConfig(client.config)
		if err != nil {
			return nil, err
		}
		*client.to = made.RESTClient()
	}
	var err error
	if m.target, err = request.target(server.Catalog); err != nil {
		return nil, err
	}
	if err := m.decide(m.target); err != nil {
		return nil, err
	}
	if err := m.Options.check(m); err != nil {
		return nil, err
	}
	return m, m.locate()
}

// At returns the resource or the subresource of the request.
func (m *Maker) At() resources.Resource { return m.at }

// ObjectName returns the name in the path of the request.
func (m *Maker) ObjectName() string { return m.name }

// Stored tells whether the request needs an object that the server has stored before.
func (m *Maker) Stored() bool { return m.main != nil }

// locate sets the fields main, namespace and name. Objects without a namespace get the namespace of the request.
func (m *Maker) locate() error {
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
	if m.Operation == admissionv1.Update && m.Old != nil && m.at.Kind.Kind == m.stored.Kind.Kind {
		for _, object := range m.Objects {
			if name := object.GetName(); name != "" && m.Old.GetName() != "" && name != m.Old.GetName() {
				return unfit("{object} has the name %q, and {old} %q: an update doesn't change the name", name, m.Old.GetName())
			}
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
			return unfit("{name}: must name the object of the connection, or {old} must have that object")
		}
		field := "{object}"
		if m.Old != nil {
			field = "{old}"
		}
		return unfit("%s: the %s must have metadata.name", field, named.GetKind())
	}
	return nil
}

// Prepare creates the namespace of the request, if the resource has namespaces. It also creates the stored objects that
// the request needs, such as the object before an update.
func (m *Maker) Prepare(ctx context.Context) error {
	if m.at.Namespaced {
		if err := m.makeNamespace(ctx); err != nil {
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

// makeNamespace creates the namespace of the request with its labels. If the namespace exists, it gets the labels.
func (m *Maker) makeNamespace(ctx context.Context) error {
	const namespaces = "/api/v1/namespaces"
	namespace := &unstructured.Unstructured{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	namespace.SetName(m.namespace)
	namespace.SetLabels(m.NamespaceLabels)
	err := send(ctx, call{client: m.setup, verb: "POST", path: namespaces, body: namespace}, nil)
	if !apierrors.IsAlreadyExists(err) || len(m.NamespaceLabels) == 0 {
		return ignore(err, apierrors.IsAlreadyExists)
	}
	return send(ctx, call{client: m.setup, verb: "PATCH", path: path.Join(namespaces, m.namespace), body: namespace, content: string(types.MergePatchType)}, nil)
}

// ignore returns the error, or nil if the function expected returns true for it.
func ignore(err error, expected func(error) bool) error {
	if expected(err) {
		return nil
	}
	return err
}

// store creates the object in its state before the request, and returns the object's name.
func (m *Maker) store(ctx context.Context, given *unstructured.Unstructured) (string, error) {
	before, created := given.DeepCopy(), &unstructured.Unstructured{}
	before.SetResourceVersion("")
	before.SetUID("")
	err := send(ctx, call{client: m.setup, verb: "POST", path: m.path(*m.stored), body: before}, created)
	if err != nil {
		// An object that the server has already needs no more than its name.
		there := given.GetName() != "" && send(ctx, call{client: m.setup, verb: "GET", path: m.path(*m.stored, given.GetName())}, created) == nil
		if there {
			return given.GetName(), nil
		}
		return "", err
	}
	itself := m.path(*m.stored, created.GetName())
	change := func(at string, set func()) error {
		// A controller of the server may write the object at the same time. Repeat the change after a conflict.
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			if err := send(ctx, call{client: m.setup, verb: "GET", path: itself}, created); err != nil {
				return err
			}
			set()
			return send(ctx, call{client: m.setup, verb: "PUT", path: at, body: created}, nil)
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
