package volumeprotection

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-helpers/storage/ephemeral"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// ClaimAccount is the name of the service account of the controller of claims.
	ClaimAccount = "pvc-protection-controller"

	claimFinalizer = "kubernetes.io/pvc-protection"

	// byClaim is the name of the index of pods by claim.
	byClaim = "volumeprotection-claim"
)

// ClaimConfig has the dependencies of the controller of claims.
type ClaimConfig struct {
	Runner *work.Runner
	Client interface {
		corev1client.PersistentVolumeClaimsGetter
		corev1client.PodsGetter
	}
	// Claims and Pods are the informers of PersistentVolumeClaims and pods.
	Claims, Pods cache.SharedIndexInformer
}

// NewClaims starts the controller of claims.
func NewClaims(config ClaimConfig) error {
	c := &claims{ClaimConfig: config}
	c.queue = work.NewQueue(config.Runner, work.Options[string]{Name: ClaimAccount, Do: c.sync})
	if err := config.Pods.AddIndexers(cache.Indexers{byClaim: claimsOf}); err != nil {
		return err
	}
	return work.Enqueue(
		work.Events{Informer: config.Claims, Changed: func(o metav1.Object) { c.queue.Add(cache.MetaObjectToName(o).String()) }},
		work.Events{Informer: config.Pods, Changed: c.podChanged, Deleted: c.podChanged},
	)
}

type claims struct {
	ClaimConfig
	queue *work.Queue[string]
}

// claimsOf returns the keys of the claims to which a pod refers.
func claimsOf(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, nil
	}
	var keys []string
	for i := range pod.Spec.Volumes {
		if name := claimNameOf(pod, &pod.Spec.Volumes[i]); name != "" {
			keys = append(keys, cache.NewObjectName(pod.Namespace, name).String())
		}
	}
	return keys, nil
}

// claimNameOf returns the name of a volume's claim, or "".
func claimNameOf(pod *corev1.Pod, volume *corev1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		return ephemeral.VolumeClaimName(pod, volume)
	}
	return ""
}

func (c *claims) podChanged(o metav1.Object) {
	keys, _ := claimsOf(o)
	for _, key := range keys {
		c.queue.Add(key)
	}
}

// sync writes whether a bound claim is unused. It lets a deleted claim go when no pod uses it.
func (c *claims) sync(ctx context.Context, key string) (time.Duration, error) {
	obj, exists, err := c.Claims.GetStore().GetByKey(key)
	if err != nil || !exists {
		return 0, err
	}
	claim := obj.(*corev1.PersistentVolumeClaim)
	protected := slices.Contains(claim.Finalizers, claimFinalizer)
	switch {
	case claim.DeletionTimestamp != nil && protected:
		used, err := c.uses(ctx, claim, mayRun)
		if err != nil || used {
			return 0, err
		}
		return 0, c.update(ctx, claim, slices.DeleteFunc(slices.Clone(claim.Finalizers), func(f string) bool { return f == claimFinalizer }))
	case claim.DeletionTimestamp == nil && !protected:
		return 0, c.update(ctx, claim, append(slices.Clone(claim.Finalizers), claimFinalizer))
	case claim.DeletionTimestamp == nil && claim.Status.Phase == corev1.ClaimBound:
		used, err := c.uses(ctx, claim, func(pod *corev1.Pod, _ *corev1.Volume) bool { return !isTerminated(pod) })
		if err != nil {
			return 0, err
		}
		return 0, c.writeUnused(ctx, claim, !used)
	}
	return 0, nil
}

func (c *claims) update(ctx context.Context, claim *corev1.PersistentVolumeClaim, finalizers []string) error {
	changed := claim.DeepCopy()
	changed.Finalizers = finalizers
	_, err := c.Client.PersistentVolumeClaims(claim.Namespace).Update(ctx, changed, metav1.UpdateOptions{})
	return work.IgnoreGone(err)
}

// uses reports whether a pod uses a claim by a volume that counts. The informer may lack new pods, so uses asks the server
// before it says no.
func (c *claims) uses(ctx context.Context, claim *corev1.PersistentVolumeClaim, counts func(*corev1.Pod, *corev1.Volume) bool) (bool, error) {
	known, err := c.Pods.GetIndexer().ByIndex(byClaim, cache.MetaObjectToName(claim).String())
	if err != nil {
		return false, err
	}
	for _, obj := range known {
		if pod, ok := obj.(*corev1.Pod); ok && refers(pod, claim, counts) {
			return true, nil
		}
	}
	live, err := c.Client.Pods(claim.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(live.Items, func(pod corev1.Pod) bool { return refers(&pod, claim, counts) }), nil
}

// refers reports whether a pod refers to a claim by a volume that counts. A generic ephemeral volume refers only to the
// claim that was made for the pod.
func refers(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim, counts func(*corev1.Pod, *corev1.Volume) bool) bool {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if claimNameOf(pod, volume) == claim.Name && counts(pod, volume) && (volume.Ephemeral == nil || ephemeral.VolumeIsForPod(pod, claim) == nil) {
			return true
		}
	}
	return false
}

// mayRun reports whether a pod has a node, so that its containers may use a volume. A pod that is only about to be removed
// doesn't use its ephemeral volumes any more.
func mayRun(pod *corev1.Pod, volume *corev1.Volume) bool {
	grace := pod.DeletionGracePeriodSeconds
	isShutDown := pod.DeletionTimestamp != nil && grace != nil && *grace == 0
	return pod.Spec.NodeName != "" && (volume.Ephemeral == nil || !isShutDown)
}

// isTerminated reports whether no container of a pod runs, or will run.
func isTerminated(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed:
		return true
	}
	return pod.DeletionTimestamp != nil && !slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Terminated == nil && s.State.Waiting == nil
	})
}

// writeUnused sets the condition Unused of a claim, if its status changes.
func (c *claims) writeUnused(ctx context.Context, claim *corev1.PersistentVolumeClaim, unused bool) error {
	condition := corev1.PersistentVolumeClaimCondition{
		Type: corev1.PersistentVolumeClaimUnused, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now(),
		Reason: "PodUsingPVC", Message: "A pod is currently referencing this PVC",
	}
	if unused {
		condition.Status, condition.Reason, condition.Message = corev1.ConditionTrue, "NoPodsUsingPVC", "No pods are currently referencing this PVC"
	}
	changed := claim.DeepCopy()
	i := slices.IndexFunc(changed.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool { return c.Type == condition.Type })
	switch {
	case i < 0:
		changed.Status.Conditions = append(changed.Status.Conditions, condition)
	case changed.Status.Conditions[i].Status == condition.Status:
		return nil
	default:
		changed.Status.Conditions[i] = condition
	}
	_, err := c.Client.PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return work.IgnoreGone(err)
}
