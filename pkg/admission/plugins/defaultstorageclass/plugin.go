// Package defaultstorageclass has the plugin DefaultStorageClass: a claim without a storage class gets the default
// class.
//
// A claim of a volume that was made by hand has the class "" and keeps it. A claim from before there was a default
// class keeps none: the volume controller of a cluster sets it later.
package defaultstorageclass

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	storagelisters "k8s.io/client-go/listers/storage/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/defaultclass"
)

// Name is the plugin's name.
const Name = "DefaultStorageClass"

// The annotations that mark a class as default.
const (
	isDefaultClass     = "storageclass.kubernetes.io/is-default-class"
	isDefaultClassBeta = "storageclass.beta.kubernetes.io/is-default-class"
)

// New returns the plugin.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create)}
}

// Plugin sets the storage class of claims.
type Plugin struct {
	*admission.Handler
	classes storagelisters.StorageClassLister
}

var _ admission.MutationInterface = &Plugin{}

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (p *Plugin) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	classes := f.Storage().V1().StorageClasses()
	p.classes = classes.Lister()
	p.SetReadyFunc(classes.Informer().HasSynced)
}

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	if p.classes == nil {
		return errors.New("missing storage class lister")
	}
	return nil
}

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
		return nil // the empty class is a class too
	}
	var err error
	claim.Spec.StorageClassName, err = defaultclass.Name(a, p.Handler, p.classes, isDefaultClass, isDefaultClassBeta)
	return err
}
