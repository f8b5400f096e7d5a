// Package persistentvolumeclaimresize has the plugin PersistentVolumeClaimResize: a bound claim may request more
// storage only if its storage class allows volume expansion.
//
// The plugin doesn't resize the volume, which is the task of the volume's driver. Validation refuses claims that
// shrink. ResourceQuota limits the storage of a namespace.
package persistentvolumeclaimresize

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/reader"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "PersistentVolumeClaimResize"

// New returns the plugin.
func New() *Plugin {
	return &Plugin{reader.NewListerHandler(classes, admission.Update)}
}

func classes(f informers.SharedInformerFactory) reader.Informer[storagelisters.StorageClassLister] {
	return f.Storage().V1().StorageClasses()
}

// Plugin refuses a larger request for storage if the claim isn't bound, or if its class doesn't allow volume
// expansion.
type Plugin struct {
	*reader.ListerHandler[storagelisters.StorageClassLister]
}

var _ admission.ValidationInterface = &Plugin{}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != corev1.Resource("persistentvolumeclaims") || a.GetSubresource() != "" {
		return nil
	}
	claim, isClaim := a.GetObject().(*corev1.PersistentVolumeClaim)
	old, wasClaim := a.GetOldObject().(*corev1.PersistentVolumeClaim)
	if !isClaim || !wasClaim {
		return nil
	}
	if claim.Spec.Resources.Requests.Storage().Cmp(*old.Spec.Resources.Requests.Storage()) <= 0 {
		return nil
	}
	if old.Status.Phase != corev1.ClaimBound {
		return admission.NewForbidden(a, errors.New("Only bound persistent volume claims can be expanded"))
	}
	if err := p.AwaitReady(a); err != nil {
		return err
	}
	if !p.allowsExpansion(claim, old) {
		return admission.NewForbidden(a, errors.New("only dynamically provisioned pvc can be resized and "+
			"the storageclass that provisions the pvc must support resize"))
	}
	return nil
}

func (p *Plugin) allowsExpansion(claim, old *corev1.PersistentVolumeClaim) bool {
	name := storagehelpers.GetPersistentVolumeClaimClass(claim)
	if name == "" || name != storagehelpers.GetPersistentVolumeClaimClass(old) {
		return false
	}
	class, err := p.Lister.Get(name)
	return err == nil && class.AllowVolumeExpansion != nil && *class.AllowVolumeExpansion
}
