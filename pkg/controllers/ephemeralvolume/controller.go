// Package ephemeralvolume is the controller ephemeral-volume-controller: it creates the claims of pods with generic
// ephemeral volumes (KEP-1698). The garbage collector deletes them with their pods.
//
// [New] starts the controller.
package ephemeralvolume

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-helpers/storage/ephemeral"

	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Account is the name of the controller's service account.
	Account = "ephemeral-volume-controller"
	// Component is the source of the controller's Events.
	Component = "ephemeral_volume"
)

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client corev1client.PersistentVolumeClaimsGetter
	Events *eventrecorder.Recorder
	// Pods and Claims are the informers of pods and PersistentVolumeClaims.
	Pods, Claims cache.SharedIndexInformer
}

// New starts the controller.
func New(config Config) error {
	c := &controller{config}
	queue := work.NewQueue(config.Runner, work.Options[string]{Name: Account, Workers: 10, Do: c.sync})
	add := func(pod *corev1.Pod) {
		if pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil }) {
			queue.Add(cache.MetaObjectToName(pod).String())
		}
	}
	return work.Enqueue(
		work.Events{Informer: config.Pods, Changed: func(o metav1.Object) {
			if pod, ok := o.(*corev1.Pod); ok {
				add(pod)
			}
		}, Updated: func(metav1.Object, metav1.Object) {}}, // volumes don't change
		work.Events{Informer: config.Claims, Deleted: func(o metav1.Object) {
			owner := metav1.GetControllerOf(o)
			if owner == nil || owner.Kind != "Pod" {
				return
			}
			obj, _, _ := config.Pods.GetStore().GetByKey(o.GetNamespace() + "/" + owner.Name)
			if pod, ok := obj.(*corev1.Pod); ok {
				add(pod)
			}
		}},
	)
}

type controller struct{ Config }

// sync creates the claims of a pod that don't exist.
func (c *controller) sync(ctx context.Context, key string) (time.Duration, error) {
	obj, exists, err := c.Pods.GetStore().GetByKey(key)
	pod, ok := obj.(*corev1.Pod)
	if err != nil || !exists || !ok || pod.DeletionTimestamp != nil {
		return 0, err
	}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.Ephemeral == nil {
			continue
		}
		if err := c.claim(ctx, pod, volume); err != nil {
			c.Events.Warn(pod, "FailedBinding", "ephemeral volume %s: %v", volume.Name, err)
			return 0, fmt.Errorf("pod %s, ephemeral volume %s: %w", key, volume.Name, err)
		}
	}
	return 0, nil
}

// claim creates the claim of a volume, unless it exists.
func (c *controller) claim(ctx context.Context, pod *corev1.Pod, volume *corev1.Volume) error {
	name := ephemeral.VolumeClaimName(pod, volume)
	obj, _, err := c.Claims.GetStore().GetByKey(pod.Namespace + "/" + name)
	if err != nil {
		return err
	}
	if existing, ok := obj.(*corev1.PersistentVolumeClaim); ok {
		return ephemeral.VolumeIsForPod(pod, existing)
	}
	template := volume.Ephemeral.VolumeClaimTemplate
	_, err = c.Client.PersistentVolumeClaims(pod.Namespace).Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: template.Labels, Annotations: template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))},
		},
		Spec: template.Spec,
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create PVC %s: %w", name, err)
	}
	return nil
}
