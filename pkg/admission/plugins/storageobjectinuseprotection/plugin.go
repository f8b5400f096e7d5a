// Package storageobjectinuseprotection has the plugin StorageObjectInUseProtection: new persistent volumes, claims and
// volume attributes classes get finalizers, which keep them from being deleted while they are in use.
//
// The controllers of a cluster remove the finalizers. On a server without controllers, disable the plugin, or
// remove the finalizers of deleted objects.
package storageobjectinuseprotection

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "StorageObjectInUseProtection"

// finalizers are the finalizers of new objects, by resource.
var finalizers = map[schema.GroupResource]string{
	corev1.Resource("persistentvolumeclaims"):     "kubernetes.io/pvc-protection",
	corev1.Resource("persistentvolumes"):          "kubernetes.io/pv-protection",
	storagev1.Resource("volumeattributesclasses"): "kubernetes.io/vac-protection",
}

// New returns the plugin.
func New() admission.MutationInterface {
	return plugin{admission.NewHandler(admission.Create)}
}

type plugin struct{ *admission.Handler }

// Admit implements admission.MutationInterface.
func (plugin) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	finalizer, ok := finalizers[a.GetResource().GroupResource()]
	if !ok || a.GetSubresource() != "" {
		return nil
	}
	object, err := meta.Accessor(a.GetObject())
	if err != nil {
		return nil
	}
	if present := object.GetFinalizers(); !slices.Contains(present, finalizer) {
		object.SetFinalizers(append(present, finalizer))
	}
	return nil
}
