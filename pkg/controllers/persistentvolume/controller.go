// Package persistentvolume is the controller persistentvolume-binder-controller: it binds PersistentVolumeClaims to
// PersistentVolumes, and releases the volumes of deleted claims.
//
// [New] starts the controller. For claims of a StorageClass with the provisioner [Provisioner], it makes volumes that only
// pretend to be storage. Volumes of other provisioners are left to these.
package persistentvolume

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Account is the name of the controller's service account.
	Account = "persistent-volume-binder"
	// Component is the source of the controller's Events.
	Component = "persistentvolume-controller"
)

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client interface {
		corev1client.PersistentVolumesGetter
		corev1client.PersistentVolumeClaimsGetter
	}
	Events *eventrecorder.Recorder
	// Claims, Volumes, Classes and Pods are the informers of PersistentVolumeClaims, PersistentVolumes, StorageClasses and
	// pods.
	Claims, Volumes, Classes, Pods cache.SharedIndexInformer
}

// New starts the controller.
func New(config Config) error {
	b := &binder{
		Config:  config,
		claims:  corelisters.NewPersistentVolumeClaimLister(config.Claims.GetIndexer()),
		volumes: corelisters.NewPersistentVolumeLister(config.Volumes.GetIndexer()),
		classes: storagelisters.NewStorageClassLister(config.Classes.GetIndexer()),
		pods:    corelisters.NewPodLister(config.Pods.GetIndexer()),
	}
	b.claimQueue = work.NewQueue(config.Runner, work.Options[cache.ObjectName]{Name: Account, Do: b.syncClaim})
	b.volumeQueue = work.NewQueue(config.Runner, work.Options[string]{Name: Account, Do: b.syncVolume})
	return work.Enqueue(
		work.Events{Informer: config.Claims, Changed: b.claimChanged, Deleted: b.claimDeleted},
		work.Events{Informer: config.Volumes, Changed: b.volumeChanged, Deleted: b.volumeDeleted},
		work.Events{Informer: config.Classes, Changed: func(metav1.Object) { b.retryUnbound() }},
	)
}

type binder struct {
	Config
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	classes storagelisters.StorageClassLister
	pods    corelisters.PodLister

	claimQueue  *work.Queue[cache.ObjectName]
	volumeQueue *work.Queue[string]
}

func (b *binder) claimChanged(o metav1.Object) { b.claimQueue.Add(cache.MetaObjectToName(o)) }

// claimDeleted queues the volume of a claim.
func (b *binder) claimDeleted(o metav1.Object) {
	if claim, ok := o.(*corev1.PersistentVolumeClaim); ok && claim.Spec.VolumeName != "" {
		b.volumeQueue.Add(claim.Spec.VolumeName)
	}
}

func (b *binder) volumeChanged(o metav1.Object) {
	b.volumeQueue.Add(o.GetName())
	if v, ok := o.(*corev1.PersistentVolume); ok && v.Status.Phase == corev1.VolumeAvailable {
		b.retryUnbound()
	}
}

// volumeDeleted queues the claim of a volume.
func (b *binder) volumeDeleted(o metav1.Object) {
	if v, ok := o.(*corev1.PersistentVolume); ok && v.Spec.ClaimRef != nil {
		b.claimQueue.Add(cache.NewObjectName(v.Spec.ClaimRef.Namespace, v.Spec.ClaimRef.Name))
	}
}

// retryUnbound queues the claims that have no volume.
func (b *binder) retryUnbound() {
	all, err := b.claims.List(labels.Everything())
	if err != nil {
		return // the error is impossible: the claims are read from a store
	}
	for _, claim := range all {
		if !isBound(claim) {
			b.claimChanged(claim)
		}
	}
}

func isBound(claim *corev1.PersistentVolumeClaim) bool {
	return metav1.HasAnnotation(claim.ObjectMeta, volume.AnnBindCompleted)
}

func (b *binder) syncClaim(ctx context.Context, name cache.ObjectName) (time.Duration, error) {
	claim, err := b.claims.PersistentVolumeClaims(name.Namespace).Get(name.Name)
	if err != nil {
		return 0, nil // the claim doesn't exist
	}
	switch {
	case isBound(claim):
		err = b.syncBound(ctx, claim)
	case claim.Spec.VolumeName != "":
		err = b.bindNamed(ctx, claim)
	default:
		err = b.bindAny(ctx, claim)
	}
	return 0, work.IgnoreGone(err)
}

// syncBound checks that a bound claim still has its volume. Otherwise the claim is lost.
func (b *binder) syncBound(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	lose := func(reason, message string) error {
		if claim.Status.Phase == corev1.ClaimLost {
			return nil
		}
		b.Events.Warn(claim, reason, "%s", message)
		return b.setPhase(ctx, claim, corev1.ClaimLost, nil)
	}
	if claim.Spec.VolumeName == "" {
		return lose("ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!")
	}
	v, err := b.volumes.Get(claim.Spec.VolumeName)
	switch {
	case err != nil:
		return lose("ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
	case v.Spec.ClaimRef == nil || v.Spec.ClaimRef.UID == claim.UID:
		if v, err = b.grow(ctx, v, claim); err != nil {
			return err
		}
		return b.bind(ctx, v, claim)
	}
	return lose("ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly")
}

// bindNamed binds a claim that names its volume.
func (b *binder) bindNamed(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	v, err := b.volumes.Get(claim.Spec.VolumeName)
	switch {
	case err != nil:
		return b.setPhase(ctx, claim, corev1.ClaimPending, nil)
	case v.Spec.ClaimRef == nil:
		if reason := mismatch(v, claim); reason != "" {
			b.Events.Warn(claim, "VolumeMismatch", "Cannot bind to requested volume %q: %s", v.Name, reason)
			return b.setPhase(ctx, claim, corev1.ClaimPending, nil)
		}
		return b.bind(ctx, v, claim)
	case volume.IsVolumeBoundToClaim(v, claim):
		return b.bind(ctx, v, claim)
	}
	b.Events.Warn(claim, "FailedBinding", "volume %q already bound to a different claim.", v.Name)
	return b.setPhase(ctx, claim, corev1.ClaimPending, nil)
}

// mismatch returns why a volume doesn't do for a claim that names it, or "".
func mismatch(v *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) string {
	wanted, size := claim.Spec.Resources.Requests[corev1.ResourceStorage], v.Spec.Capacity[corev1.ResourceStorage]
	switch {
	case v.DeletionTimestamp != nil:
		return fmt.Sprintf("the volume is marked for deletion %q", v.Name)
	case size.Cmp(wanted) < 0:
		return "requested PV is too small"
	case volume.GetPersistentVolumeClass(v) != volume.GetPersistentVolumeClaimClass(claim):
		return "storageClassName does not match"
	case ptr.Deref(v.Spec.VolumeAttributesClassName, "") != ptr.Deref(claim.Spec.VolumeAttributesClassName, ""):
		return "volumeAttributesClassName does not match"
	case volume.CheckVolumeModeMismatches(&claim.Spec, &v.Spec):
		return "incompatible volumeMode"
	case !volume.CheckAccessModes(claim, v):
		return "incompatible accessMode"
	}
	return ""
}

// bindAny binds a claim to the volume that fits best, or lets a provisioner make one.
func (b *binder) bindAny(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	delayed, err := volume.IsDelayBindingMode(claim, b.classes)
	if err != nil {
		return err
	}
	v, err := b.bestMatch(claim, delayed)
	switch {
	case err != nil:
		return fmt.Errorf("error finding PV for claim %q: %w", cache.MetaObjectToName(claim), err)
	case v != nil:
		return b.bind(ctx, v, claim)
	case !volume.PersistentVolumeClaimHasClass(claim):
		if class := b.defaultClass(); class != nil {
			changed := claim.DeepCopy()
			changed.Spec.StorageClassName = &class.Name
			_, err := b.Client.PersistentVolumeClaims(claim.Namespace).Update(ctx, changed, metav1.UpdateOptions{})
			return err
		}
	case delayed && !volume.IsDelayBindingProvisioning(claim):
		b.tellDelay(claim)
		return b.setPhase(ctx, claim, corev1.ClaimPending, nil)
	case volume.GetPersistentVolumeClaimClass(claim) != "":
		return b.provision(ctx, claim)
	}
	b.Events.Tell(claim, "FailedBinding", "no persistent volumes available for this claim and no storage class is set")
	return b.setPhase(ctx, claim, corev1.ClaimPending, nil)
}

// bestMatch returns the smallest volume that fits a claim, of those with the fewest access modes.
func (b *binder) bestMatch(claim *corev1.PersistentVolumeClaim, delayed bool) (*corev1.PersistentVolume, error) {
	all, err := b.volumes.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	byModes := map[int][]*corev1.PersistentVolume{}
	most := 0
	for _, v := range all {
		if volume.CheckAccessModes(claim, v) {
			modes := len(v.Spec.AccessModes)
			byModes[modes] = append(byModes[modes], v)
			most = max(most, modes)
		}
	}
	for modes := range most + 1 {
		if v, err := volume.FindMatchingVolume(claim, byModes[modes], nil, nil, delayed, true); v != nil || err != nil {
			return v, err
		}
	}
	return nil, nil
}

// tellDelay records that a claim waits for the node of its first pod.
func (b *binder) tellDelay(claim *corev1.PersistentVolumeClaim) {
	pods, err := b.pods.Pods(claim.Namespace).List(labels.Everything())
	if err != nil {
		return // the error is impossible: the pods are read from a store
	}
	var waiting []string
	for _, pod := range pods {
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if pod.Spec.NodeName == "" && !ended && uses(pod, claim) {
			waiting = append(waiting, pod.Name)
		}
	}
	switch len(waiting) {
	case 0:
		b.Events.Tell(claim, "WaitForFirstConsumer", "waiting for first consumer to be created before binding")
	case 1:
		b.Events.Tell(claim, "WaitForPodScheduled", "waiting for pod %s to be scheduled", waiting[0])
	default:
		b.Events.Tell(claim, "WaitForPodScheduled", "waiting for pods %s to be scheduled", strings.Join(waiting, ","))
	}
}

func uses(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name || v.Ephemeral != nil && pod.Name+"-"+v.Name == claim.Name {
			return true
		}
	}
	return false
}

// bind makes a volume and a claim refer to each other.
func (b *binder) bind(ctx context.Context, v *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) error {
	bound, changed, err := volume.GetBindVolumeToClaim(v, claim)
	if err != nil {
		return err
	}
	if changed {
		if bound, err = b.Client.PersistentVolumes().Update(ctx, bound, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if err := b.setVolumePhase(ctx, bound, corev1.VolumeBound, ""); err != nil {
		return err
	}
	changedClaim := claim.DeepCopy()
	if claim.Spec.VolumeName != v.Name {
		changedClaim.Spec.VolumeName = v.Name
		metav1.SetMetaDataAnnotation(&changedClaim.ObjectMeta, volume.AnnBoundByController, "yes")
	}
	metav1.SetMetaDataAnnotation(&changedClaim.ObjectMeta, volume.AnnBindCompleted, "yes")
	if !equality.Semantic.DeepEqual(claim, changedClaim) {
		if changedClaim, err = b.Client.PersistentVolumeClaims(claim.Namespace).Update(ctx, changedClaim, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return b.setPhase(ctx, changedClaim, corev1.ClaimBound, bound)
}

// setPhase writes the status of a claim, with what the claim has of the volume. v is nil if the claim has no volume.
func (b *binder) setPhase(ctx context.Context, claim *corev1.PersistentVolumeClaim, phase corev1.PersistentVolumeClaimPhase, v *corev1.PersistentVolume) error {
	changed := claim.DeepCopy()
	status := &changed.Status
	if v == nil {
		status.AccessModes, status.Capacity, status.CurrentVolumeAttributesClassName = nil, nil, nil
	} else {
		status.AccessModes = v.Spec.AccessModes
		if status.Phase != phase || isPretended(v) {
			status.Capacity = v.Spec.Capacity
		}
		if status.Phase == corev1.ClaimPending {
			status.CurrentVolumeAttributesClassName = v.Spec.VolumeAttributesClassName
		}
	}
	status.Phase = phase
	if equality.Semantic.DeepEqual(claim.Status, changed.Status) {
		return nil
	}
	_, err := b.Client.PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return err
}

func (b *binder) setVolumePhase(ctx context.Context, v *corev1.PersistentVolume, phase corev1.PersistentVolumePhase, message string) error {
	if v.Status.Phase == phase {
		return nil
	}
	changed := v.DeepCopy()
	changed.Status.Phase, changed.Status.Message = phase, message
	_, err := b.Client.PersistentVolumes().UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return err
}

// syncVolume writes the phase of a volume. It releases a volume whose claim is gone.
func (b *binder) syncVolume(ctx context.Context, name string) (time.Duration, error) {
	v, err := b.volumes.Get(name)
	if err != nil {
		return 0, nil // the volume doesn't exist
	}
	reference := v.Spec.ClaimRef
	if reference == nil || reference.UID == "" {
		return 0, work.IgnoreGone(b.setVolumePhase(ctx, v, corev1.VolumeAvailable, ""))
	}
	claim, err := b.claimOf(ctx, v)
	switch {
	case err != nil:
	case claim == nil:
		err = b.release(ctx, v)
	case claim.Spec.VolumeName == "" && volume.CheckVolumeModeMismatches(&claim.Spec, &v.Spec):
		b.Events.Warn(v, "VolumeMismatch", "Cannot bind PersistentVolume to requested PersistentVolumeClaim %q due to incompatible volumeMode.", claim.Name)
		b.Events.Warn(claim, "VolumeMismatch", "Cannot bind PersistentVolume %q to requested PersistentVolumeClaim due to incompatible volumeMode.", v.Name)
	case claim.Spec.VolumeName == "":
		b.claimChanged(claim)
	case claim.Spec.VolumeName == v.Name:
		err = b.setVolumePhase(ctx, v, corev1.VolumeBound, "")
	case metav1.HasAnnotation(v.ObjectMeta, volume.AnnDynamicallyProvisioned) && v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete:
		err = b.release(ctx, v)
	default:
		err = b.unbind(ctx, v)
	}
	return 0, work.IgnoreGone(err)
}

// claimOf returns the claim to which a volume refers, or nil if it doesn't exist. A claim that the informer lacks may be
// new, so claimOf asks the server.
func (b *binder) claimOf(ctx context.Context, v *corev1.PersistentVolume) (*corev1.PersistentVolumeClaim, error) {
	reference := v.Spec.ClaimRef
	claim, err := b.claims.PersistentVolumeClaims(reference.Namespace).Get(reference.Name)
	if err == nil && claim.UID == reference.UID {
		return claim, nil
	}
	claim, err = b.Client.PersistentVolumeClaims(reference.Namespace).Get(ctx, reference.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && claim.UID != reference.UID {
		return nil, nil
	}
	return claim, err
}

// unbind removes the reference to a claim from a volume that the claim hasn't chosen.
func (b *binder) unbind(ctx context.Context, v *corev1.PersistentVolume) error {
	changed := v.DeepCopy()
	if metav1.HasAnnotation(changed.ObjectMeta, volume.AnnBoundByController) {
		changed.Spec.ClaimRef = nil
		delete(changed.Annotations, volume.AnnBoundByController)
	} else {
		changed.Spec.ClaimRef.UID = ""
	}
	updated, err := b.Client.PersistentVolumes().Update(ctx, changed, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	return b.setVolumePhase(ctx, updated, corev1.VolumeAvailable, "")
}

// deletableHostPath matches the folders that kube-controller-manager deletes.
var deletableHostPath = regexp.MustCompile("/tmp/.+")

// release does what the reclaim policy of a volume without a claim says. The phase of a volume comes first: the event of
// its change lets release continue. The folder of a volume with a hostPath stays.
func (b *binder) release(ctx context.Context, v *corev1.PersistentVolume) error {
	if v.Status.Phase != corev1.VolumeReleased && v.Status.Phase != corev1.VolumeFailed {
		return b.setVolumePhase(ctx, v, corev1.VolumeReleased, "")
	}
	fail := func(reason, message string) error {
		if v.Status.Phase != corev1.VolumeFailed {
			b.Events.Warn(v, reason, "%s", message)
		}
		return b.setVolumePhase(ctx, v, corev1.VolumeFailed, message)
	}
	provisioner, policy := v.Annotations[volume.AnnDynamicallyProvisioned], v.Spec.PersistentVolumeReclaimPolicy
	if policy == corev1.PersistentVolumeReclaimRecycle {
		return fail("VolumeFailedRecycle", "No recycler plugin found for the volume!")
	}
	if policy != corev1.PersistentVolumeReclaimDelete {
		return nil
	}
	switch path := v.Spec.HostPath; {
	case provisioner == "" && path != nil && !deletableHostPath.MatchString(path.Path):
		return fail("VolumeFailedDelete", "host_path deleter only supports /tmp/.+ but received provided "+path.Path)
	case provisioner == "" && path == nil && v.Spec.CSI == nil:
		return fail("VolumeFailedDelete", fmt.Sprintf("error getting deleter volume plugin for volume %q: no deletable volume plugin matched", v.Name))
	case (provisioner == Provisioner || provisioner == "" && path != nil) && v.DeletionTimestamp == nil:
		return b.Client.PersistentVolumes().Delete(ctx, v.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &v.UID}})
	}
	return nil
}
