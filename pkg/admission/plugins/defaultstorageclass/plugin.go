// Package defaultstorageclass has the plugin DefaultStorageClass: a new claim without a storage class gets the
// default class.
//
// A claim with the class "" keeps this class, because the claim is for a volume that an administrator made by hand. A
// claim that was created before there was a default class gets none from this plugin; the volume controller of a
// cluster sets its class later.
package defaultstorageclass

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	storagelisters "k8s.io/client-go/listers/storage/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/defaultclass"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/reader"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "DefaultStorageClass"

// The annotations that mark a class as default.
const (
	isDefaultClass     = "storageclass.kubernetes.io/is-default-class"
	isDefaultClassBeta = "storageclass.beta.kubernetes.io/is-default-class"
)

// New returns the plugin.
func New() *Plugin {
	return &Plugin{reader.NewListerHandler(classes, admission.Create)}
}

func classes(f informers.SharedInformerFactory) reader.Informer[storagelisters.StorageClassLister] {
	return f.Storage().V1().StorageClasses()
}

// Plugin sets the storage class of claims.
type Plugin struct {
	*reader.ListerHandler[storagelisters.StorageClassLister]
}

var _ admission.MutationInterface = &Plugin{}

// Admit implements admission.MutationInterface.
func (p *Plugin) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != corev1.Resource("persistentvolumeclaims") || a.GetSubresource() != "" {
		return nil
	}
	claim, ok := a.GetObject().(*corev1.PersistentVolumeClaim)
	if !ok {
		return nil
	}
	if _, asked := claim.Annotations[corev1.BetaStorageClassAnnotation]; asked || claim.Spec.StorageClassName != nil {
		return nil // the class "" counts as a class
	}
	if err := p.AwaitReady(a); err != nil {
		return err
	}
	var err error
	claim.Spec.StorageClassName, err = defaultclass.Name(a, p.Lister, isDefaultClass, isDefaultClassBeta)
	return err
}
