package job

import (
	"context"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// Account is the name of the controller's service account, and the source of its events.
const Account = "job-controller"

// kind is the kind of the owners of pods.
var kind = batchv1.SchemeGroupVersion.WithKind("Job")

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client batchv1client.JobsGetter
	Pods   owned.Pods
	// JobInformer and PodInformer are the informers of Jobs and pods.
	JobInformer, PodInformer cache.SharedIndexInformer
}

// New starts the controller. The function that it returns makes the controller forget the failures of pods: a restored
// snapshot may have Jobs from before these.
func New(config Config) (forget func(), err error) {
	c := &controller{Config: config, backoffs: map[string]backoff{}}
	options := func(do func(context.Context, string) (time.Duration, error)) work.Options[string] {
		limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute)
		return work.Options[string]{Name: Account, Workers: 5, Do: do, Limiter: limiter}
	}
	c.jobs = work.NewQueue(config.Runner, options(c.sync))
	c.orphans = work.NewQueue(config.Runner, options(c.releaseOrphan))
	if err := owned.Index(config.PodInformer); err != nil {
		return nil, err
	}
	return c.forgetAll, work.Enqueue(
		work.Events{Informer: config.JobInformer, Changed: c.jobChanged, Deleted: c.jobDeleted},
		work.Events{Informer: config.PodInformer, Changed: c.podChanged},
		owned.Owners{Kind: kind.Kind, Informer: config.JobInformer, Selector: selectorOf}.Events(config.PodInformer, c.jobs.Add),
	)
}

type controller struct {
	Config
	jobs    *work.Queue[string]
	orphans *work.Queue[string] // pods whose finalizers may be left

	mu       sync.Mutex
	backoffs map[string]backoff // by the keys of Jobs
}

func selectorOf(owner any) (labels.Selector, error) {
	job, ok := owner.(*batchv1.Job)
	if !ok {
		return nil, fmt.Errorf("an informer of Jobs has a %T", owner)
	}
	return metav1.LabelSelectorAsSelector(job.Spec.Selector)
}

func (c *controller) jobChanged(o metav1.Object) {
	c.jobs.Add(owned.Key(o))
	if job, ok := o.(*batchv1.Job); ok && Finished(job) != nil {
		c.podsOrphaned(o)
	}
}

func (c *controller) jobDeleted(o metav1.Object) {
	c.forget(owned.Key(o))
	c.podsOrphaned(o)
}

// podChanged queues a pod that no Job counts. Its finalizer would keep it.
func (c *controller) podChanged(o metav1.Object) {
	if pod, ok := o.(*corev1.Pod); ok && isTracked(pod) && c.isOrphan(pod) {
		c.orphans.Add(owned.Key(pod))
	}
}

// podsOrphaned queues the pods of a Job that no longer counts them.
func (c *controller) podsOrphaned(job metav1.Object) {
	for _, pod := range owned.Of[*corev1.Pod](c.PodInformer, job) {
		if isTracked(pod) {
			c.orphans.Add(owned.Key(pod))
		}
	}
}

// isManagedElsewhere reports whether another controller works on a Job.
func isManagedElsewhere(job *batchv1.Job) bool {
	return ptr.Deref(job.Spec.ManagedBy, batchv1.JobControllerName) != batchv1.JobControllerName
}

func (c *controller) backoffOf(key string) backoff {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.backoffs[key]
}

func (c *controller) remember(key string, b backoff) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b == (backoff{}) {
		delete(c.backoffs, key)
		return
	}
	c.backoffs[key] = b
}

func (c *controller) forget(key string) { c.remember(key, backoff{}) }

func (c *controller) forgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.backoffs)
}

// claim returns the pods of a Job. It adopts pods that the Job selects, and releases others. An adopted pod has its
// finalizer, although the informer may have an older pod.
func (c *controller) claim(ctx context.Context, job *batchv1.Job) ([]*corev1.Pod, error) {
	selector, err := selectorOf(job)
	if err != nil {
		return nil, fmt.Errorf("couldn't convert Job selector: %w", err)
	}
	pods, err := owned.Claim(ctx, owned.Claimant{
		Owner: job, Kind: kind, Selector: selector, Finalizers: []string{batchv1.JobTrackingFinalizer},
		Live: func(ctx context.Context) (metav1.Object, error) {
			return c.Client.Jobs(job.Namespace).Get(ctx, job.Name, metav1.GetOptions{})
		},
		Patch: c.Pods.Patch(job.Namespace),
	}, owned.Candidates[*corev1.Pod](c.PodInformer, job))
	for i, pod := range pods {
		if !metav1.IsControlledBy(pod, job) && !isTracked(pod) {
			pods[i] = pod.DeepCopy()
			pods[i].Finalizers = append(pods[i].Finalizers, batchv1.JobTrackingFinalizer)
		}
	}
	return pods, err
}
