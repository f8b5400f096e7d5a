// Package volumeprotection is the controllers persistentvolumeclaim-protection-controller and
// persistentvolume-protection-controller: by a finalizer, they keep a deleted claim while a pod uses it, and a deleted
// volume while a claim is bound to it.
//
// [NewClaims] and [NewVolumes] start them.
package volumeprotection

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// VolumeAccount is the name of the service account of the controller of volumes.
	VolumeAccount = "pv-protection-controller"

	volumeFinalizer = "kubernetes.io/pv-protection"
)

// VolumeConfig has the dependencies of the controller of volumes.
type VolumeConfig struct {
	Runner *work.Runner
	Client corev1client.PersistentVolumesGetter
	// Volumes is the informer of PersistentVolumes.
	Volumes cache.SharedIndexInformer
}

// NewVolumes starts the controller of volumes.
func NewVolumes(config VolumeConfig) error {
	v := &volumes{config}
	queue := work.NewQueue(config.Runner, work.Options[string]{Name: VolumeAccount, Do: v.sync})
	return work.Enqueue(work.Events{Informer: config.Volumes, Changed: work.Named(queue.Add)})
}

type volumes struct{ VolumeConfig }

func (v *volumes) sync(ctx context.Context, name string) (time.Duration, error) {
	obj, exists, err := v.Volumes.GetStore().GetByKey(name)
	if err != nil || !exists {
		return 0, err
	}
	volume := obj.(*corev1.PersistentVolume)
	protected := slices.Contains(volume.Finalizers, volumeFinalizer)
	changed := volume.DeepCopy()
	switch {
	case volume.DeletionTimestamp == nil && !protected:
		changed.Finalizers = append(changed.Finalizers, volumeFinalizer)
	case volume.DeletionTimestamp != nil && protected && volume.Status.Phase != corev1.VolumeBound:
		changed.Finalizers = slices.DeleteFunc(changed.Finalizers, func(f string) bool { return f == volumeFinalizer })
	default:
		return 0, nil
	}
	_, err = v.Client.PersistentVolumes().Update(ctx, changed, metav1.UpdateOptions{})
	return 0, work.IgnoreGone(err)
}
