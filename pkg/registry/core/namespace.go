package core

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// namespaceKind is the row of namespaces in the server's table of kinds.
var namespaceKind = registry.Kind{
	Resource:   "namespaces",
	ShortNames: []string{"ns"},
	Object:     &corev1.Namespace{}, List: &corev1.NamespaceList{},
	Defaults:      []registry.Default{registry.DefaultOf(defaultNamespace)},
	Status:        true,
	ReturnDeleted: true,
	Hooks: registry.HooksOf[*corev1.Namespace]{
		PrepareForCreate: activateNamespace,
		PrepareForUpdate: func(_ context.Context, n, old *corev1.Namespace) { n.Spec.Finalizers = old.Spec.Finalizers },
		// Defaulting sets the label kubernetes.io/metadata.name too, but it runs before a generated name exists.
		// Therefore, this hook sets the label again.
		Canonicalize:         func(n *corev1.Namespace) { metav1.SetMetaDataLabel(&n.ObjectMeta, corev1.LabelMetadataName, n.Name) },
		Validate:             validateNamespace,
		ValidateUpdate:       validateNamespaceUpdate,
		ValidateStatusUpdate: validateNamespaceStatusUpdate,
	},
	Subresources: []registry.Subresource{{Name: "finalize", Update: updateFinalizers, Wrap: withoutGet}},
	Storage:      newNamespaceStorage,
	Printer:      &namespaceColumns,
	Fields:       namespaceFields,
}

// defaultNamespace sets the defaults of a Namespace, among them the label with its name. If the name isn't
// generated yet, the hook Canonicalize sets the label later.
func defaultNamespace(n *corev1.Namespace) {
	defaults.Zero(&n.Status.Phase, corev1.NamespaceActive)
	if n.Name == "" {
		return
	}
	if n.Labels == nil {
		n.Labels = make(map[string]string, 1)
	}
	n.Labels[corev1.LabelMetadataName] = n.Name
}

// validateNamespace checks a new namespace.
func validateNamespace(o *corev1.Namespace) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSLabel)
	for _, name := range o.Spec.Finalizers {
		f.Merge(finalizer(field.NewPath("spec", "finalizers"), string(name)))
	}
	return f.Errs
}

func validateNamespaceUpdate(o, old *corev1.Namespace) field.ErrorList {
	return append(validateNamespace(o), validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs...)
}

// validateNamespaceStatusUpdate checks that a namespace has the phase Terminating if, and only if, it is being
// deleted.
func validateNamespaceStatusUpdate(o, old *corev1.Namespace) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	phase, msg := corev1.NamespaceActive, "may only be 'Active' if `deletionTimestamp` is empty"
	if !o.DeletionTimestamp.IsZero() {
		phase, msg = corev1.NamespaceTerminating, "may only be 'Terminating' if `deletionTimestamp` is not empty"
	}
	f.AddIf(o.Status.Phase != phase, field.Invalid(field.NewPath("status", "Phase"), o.Status.Phase, msg))
	return f.Errs
}

// validateNamespaceFinalizeUpdate checks an update of namespaces/finalize.
func validateNamespaceFinalizeUpdate(o, old *corev1.Namespace) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	for i, name := range o.Spec.Finalizers {
		f.Merge(finalizer(field.NewPath("spec", "finalizers").Index(i), string(name)))
	}
	return f.Errs
}

// finalizer checks the name of a finalizer. It must be well-formed. It must have a domain, or be one of Kubernetes'
// finalizers without a domain.
func finalizer(path *field.Path, name string) field.ErrorList {
	return append(validation.Qualified(path, name), validation.KnownFinalizer(path, name)...)
}

// NamespaceController says whether this server runs the controller that deletes the content of a deleted namespace.
// Without the controller, a deleted namespace gets a condition that says why the namespace stays.
type NamespaceController bool

// namespaceStorage is the storage of namespaces. A deletion takes two steps. The first deletion gives a namespace
// the phase Terminating. After the namespace's content is gone, an update removes the last of spec.finalizers, and
// with it the namespace. Namespaces have no deletecollection.
type namespaceStorage struct {
	namespaceVerbs
	store *genericregistry.Store
	// controlled is true if this server runs the namespace controller.
	controlled bool
}

// namespaceVerbs has the methods of the generic storage that namespaces use unchanged. It leaves out deletecollection.
type namespaceVerbs interface {
	rest.Getter
	rest.Lister
	rest.CreaterUpdater
	rest.Watcher
	rest.ShortNamesProvider
	rest.SingularNameProvider
	rest.ResetFieldsStrategy
	rest.StorageVersionProvider
	rest.StorageWithReadiness
	NamespaceScoped() bool
}

var _ rest.GracefulDeleter = &namespaceStorage{}

func newNamespaceStorage(main *registry.Storage, deps registry.Dependencies) (rest.Storage, error) {
	main.ShouldDeleteDuringUpdate = func(_ context.Context, _ string, obj, _ runtime.Object) bool {
		return len(obj.(*corev1.Namespace).Spec.Finalizers) == 0
	}
	return &namespaceStorage{main, main.Store, bool(registry.PartOf[NamespaceController](deps))}, nil
}

// Delete gives a namespace the phase Terminating. A namespace that is already Terminating is removed, if it has no
// spec.finalizers.
func (r *namespaceStorage) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	found, err := r.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	namespace := found.(*corev1.Namespace)
	if options == nil {
		options = metav1.NewDeleteOptions(0)
	}
	if options.Preconditions == nil {
		options.Preconditions = &metav1.Preconditions{}
	}
	if options.Preconditions.UID == nil {
		// With the precondition, a new namespace of the same name isn't deleted by mistake.
		options.Preconditions.UID = &namespace.UID
	}
	preconditions := &storage.Preconditions{UID: options.Preconditions.UID, ResourceVersion: options.Preconditions.ResourceVersion}
	if err := checkNamespacePreconditions(namespace, preconditions); err != nil {
		return nil, false, err
	}
	if namespace.DeletionTimestamp.IsZero() {
		terminating, err := r.terminate(ctx, name, validate, options, preconditions)
		return terminating, false, err
	}
	if len(namespace.Spec.Finalizers) != 0 {
		return namespace, false, nil
	}
	return r.store.Delete(ctx, name, validate, options)
}

// terminate sets the deletion timestamp, the phase, and the garbage collector's finalizers that belong to the
// delete options.
func (r *namespaceStorage) terminate(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, preconditions *storage.Preconditions) (runtime.Object, error) {
	key, err := r.store.KeyFunc(ctx, name)
	if err != nil {
		return nil, err
	}
	out := r.store.New()
	resource := r.store.DefaultQualifiedResource
	err = r.store.Storage.GuaranteedUpdate(ctx, key, out, false, preconditions, storage.SimpleUpdate(func(existing runtime.Object) (runtime.Object, error) {
		namespace, ok := existing.(*corev1.Namespace)
		if !ok {
			return nil, fmt.Errorf("expected a Namespace, not %T", existing)
		}
		if err := validate(ctx, namespace); err != nil {
			return nil, err
		}
		if namespace.DeletionTimestamp.IsZero() {
			now := metav1.Now()
			namespace.DeletionTimestamp = &now
		}
		namespace.Status.Phase = corev1.NamespaceTerminating
		if !r.controlled {
			namespace.Status.Conditions = append(namespace.Status.Conditions, uncontrolled(namespace))
		}
		namespace.Finalizers = propagationFinalizers(namespace.Finalizers, options)
		return namespace, nil
	}), dryrun.IsDryRun(options.DryRun), nil)
	if err != nil {
		err = storeerr.InterpretGetError(err, resource, name)
		err = storeerr.InterpretUpdateError(err, resource, name)
		if _, ok := err.(*apierrors.StatusError); !ok { //nolint:errorlint // k8s.io/apiserver never wraps these errors
			err = apierrors.NewInternalError(err)
		}
		return nil, err
	}
	if r.store.AfterUpdate != nil {
		r.store.AfterUpdate(out, &metav1.UpdateOptions{DryRun: options.DryRun})
	}
	return out, nil
}

// uncontrolled returns the condition of a deleted namespace on a server without the namespace controller. The
// condition says which steps a client must take.
func uncontrolled(namespace *corev1.Namespace) corev1.NamespaceCondition {
	return corev1.NamespaceCondition{
		Type: "NamespaceDeletionWaiting", Status: corev1.ConditionTrue, LastTransitionTime: *namespace.DeletionTimestamp,
		Reason: "NoNamespaceController",
		Message: "This server runs no namespace controller (--controllers=namespace-controller). The namespace stays until a client " +
			"deletes its content and then empties spec.finalizers by a request to its finalize subresource.",
	}
}

func checkNamespacePreconditions(namespace *corev1.Namespace, p *storage.Preconditions) error {
	resource := corev1.Resource("namespaces")
	if p.UID != nil && *p.UID != namespace.UID {
		return apierrors.NewConflict(resource, namespace.Name,
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", *p.UID, namespace.UID))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != namespace.ResourceVersion {
		return apierrors.NewConflict(resource, namespace.Name,
			fmt.Errorf("Precondition failed: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v", *p.ResourceVersion, namespace.ResourceVersion))
	}
	return nil
}

// propagationFinalizers returns the finalizers of a namespace that is being deleted. The options determine the
// finalizers of the garbage collector, by the deprecated orphanDependents or else by propagationPolicy.
// orphanDependents: false has the same effect as the policy Foreground.
func propagationFinalizers(finalizers []string, options *metav1.DeleteOptions) []string {
	want := map[string]bool{}
	for _, f := range finalizers {
		want[f] = true
	}
	if orphan := options.OrphanDependents; orphan != nil { //nolint:staticcheck // old clients still send orphanDependents
		want[metav1.FinalizerOrphanDependents], want[metav1.FinalizerDeleteDependents] = *orphan, !*orphan
	} else if policy := options.PropagationPolicy; policy != nil {
		want[metav1.FinalizerOrphanDependents] = *policy == metav1.DeletePropagationOrphan
		want[metav1.FinalizerDeleteDependents] = *policy == metav1.DeletePropagationForeground
	}
	var kept []string
	for _, f := range finalizers {
		if want[f] {
			kept = append(kept, f)
			delete(want, f)
		}
	}
	for _, f := range []string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents} {
		if want[f] {
			kept = append(kept, f)
		}
	}
	return kept
}

// finalizeStrategy is the update strategy of namespaces/finalize. An update can change spec.finalizers, but not the
// status.
type finalizeStrategy struct{ registry.Strategy }

func (s finalizeStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	registry.CopyStatus(obj, old)
}

func (s finalizeStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validateNamespaceFinalizeUpdate(obj.(*corev1.Namespace), old.(*corev1.Namespace))
}

func updateFinalizers(s registry.Strategy) registry.UpdateStrategy { return finalizeStrategy{s} }

// withoutGet returns the storage of namespaces/finalize. It supports only updates.
func withoutGet(part registry.ObjectPart, _ registry.Strategy) (rest.Storage, error) {
	return onlyUpdate{part}, nil
}

// onlyUpdate is a storage with the single verb update.
type onlyUpdate struct{ s registry.ObjectPart }

var _ rest.Updater = onlyUpdate{}

func (o onlyUpdate) New() runtime.Object { return o.s.New() }

// Destroy does nothing, because the storage of namespaces destroys the store.
func (o onlyUpdate) Destroy() {}

func (o onlyUpdate) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, force bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return o.s.Update(ctx, name, objInfo, createValidation, updateValidation, force, options)
}

// activateNamespace gives a new namespace the phase Active, and the finalizer that keeps the namespace until its
// content is gone.
func activateNamespace(_ context.Context, n *corev1.Namespace) {
	n.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	if !slices.Contains(n.Spec.Finalizers, corev1.FinalizerKubernetes) {
		n.Spec.Finalizers = append(n.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

var namespaceColumns = printers.Of(
	[]printers.Column{printers.NameColumn, printers.Text("Status", "The status of the namespace"), printers.AgeColumn},
	func(n *corev1.Namespace) []any {
		return []any{n.Name, string(n.Status.Phase), printers.Since(n.CreationTimestamp)}
	})

var namespaceFields = registry.FieldsOf[*corev1.Namespace]{
	Values: func(n *corev1.Namespace) fields.Set { return fields.Set{"status.phase": string(n.Status.Phase)} },
	Names:  []string{"status.phase"},
}
