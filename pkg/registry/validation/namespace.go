package validation

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Namespace checks a new namespace.
func Namespace(o *corev1.Namespace) field.ErrorList {
	f := Created(&o.ObjectMeta, ClusterScoped, apivalidation.NameIsDNSLabel)
	for _, name := range o.Spec.Finalizers {
		f.Merge(finalizer(field.NewPath("spec", "finalizers"), string(name)))
	}
	return f.Errs
}

// NamespaceUpdate checks a namespace that replaces another.
func NamespaceUpdate(o, old *corev1.Namespace) field.ErrorList {
	return append(Namespace(o), Updated(&o.ObjectMeta, &old.ObjectMeta).Errs...)
}

// NamespaceStatusUpdate checks that a namespace is terminating when, and only when, it
// is being deleted.
func NamespaceStatusUpdate(o, old *corev1.Namespace) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	phase, msg := corev1.NamespaceActive, "may only be 'Active' if `deletionTimestamp` is empty"
	if !o.DeletionTimestamp.IsZero() {
		phase, msg = corev1.NamespaceTerminating, "may only be 'Terminating' if `deletionTimestamp` is not empty"
	}
	f.AddIf(o.Status.Phase != phase, field.Invalid(field.NewPath("status", "Phase"), o.Status.Phase, msg))
	return f.Errs
}

// NamespaceFinalizeUpdate checks what the finalize subresource of a namespace is given.
func NamespaceFinalizeUpdate(o, old *corev1.Namespace) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	for i, name := range o.Spec.Finalizers {
		f.Merge(finalizer(field.NewPath("spec", "finalizers").Index(i), string(name)))
	}
	return f.Errs
}

// finalizer checks a finalizer's name as a string, and that it is a known one.
func finalizer(path *field.Path, name string) field.ErrorList {
	return append(Qualified(path, name), KnownFinalizer(path, name)...)
}
