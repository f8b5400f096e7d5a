package job

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// isOrphan reports whether no Job counts a pod, although the pod has the finalizer: the pod has no controller, or it is
// being deleted and its Job is gone or has ended.
func (c *controller) isOrphan(pod *corev1.Pod) bool {
	return metav1.GetControllerOfNoCopy(pod) == nil || pod.DeletionTimestamp != nil && c.isUncounted(pod)
}

// isUncounted reports whether the Job of a pod is gone or has ended. It returns false for pods of other controllers.
func (c *controller) isUncounted(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner.Kind != kind.Kind || owner.APIVersion != batchv1.SchemeGroupVersion.String() {
		return false
	}
	obj, _, _ := c.JobInformer.GetStore().GetByKey(cache.NewObjectName(pod.Namespace, owner.Name).String())
	job, ok := obj.(*batchv1.Job)
	return !ok || job.UID != owner.UID || !isManagedElsewhere(job) && Finished(job) != nil
}

// releaseOrphan removes the finalizer of a pod that no Job counts.
func (c *controller) releaseOrphan(ctx context.Context, key string) (again time.Duration, err error) {
	obj, exists, err := c.PodInformer.GetStore().GetByKey(key)
	if err != nil || !exists {
		return 0, err
	}
	pod := obj.(*corev1.Pod)
	if !isTracked(pod) || metav1.GetControllerOfNoCopy(pod) != nil && !c.isUncounted(pod) {
		return 0, nil
	}
	return 0, work.IgnoreGone(c.Pods.Patch(pod.Namespace)(ctx, pod.Name, untracked))
}
