package namespace

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/miniapi-dev/miniapi/pkg/controllers/served"
)

const (
	// finalizerEstimate is the estimated time, in seconds, until objects with finalizers are gone. The controller checks
	// them again after about half of this time.
	finalizerEstimate = 15

	// parallel is the number of resources of a namespace that are deleted at the same time. If the etcd has a data
	// folder, one fsync is enough for several deletions at the same time. The limit is low enough that all workers
	// together stay below --max-mutating-requests-inflight.
	parallel = 16
)

var podsResource = schema.GroupResource{Resource: "pods"}

// content deletes the objects of a namespace, and counts the objects that remain.
type content struct {
	*Config
	namespace string
	deleted   time.Time // the time at which the namespace was deleted

	mu sync.Mutex
	// estimate is the estimated time in seconds until the remaining objects are gone, or 0 if there is no estimate.
	estimate int64
	// remaining counts the remaining objects by resource. finalizers counts them by finalizer.
	remaining  map[schema.GroupVersionResource]int
	finalizers map[string]int
	// podsOnly is true if the controller has deleted only pods, because it deletes other objects only when no pods
	// are left.
	podsOnly bool
	// undiscovered is the error of discovery. invalid is the error for a group version that can't be parsed.
	// undeleted has the errors of deletions.
	undiscovered, invalid error
	undeleted             []error
}

// delete deletes the pods in the namespace. When no pods are left, it deletes all other objects. If the pods can't be
// deleted or listed, it deletes the other objects nevertheless, as kube-controller-manager does.
func (c *content) delete(ctx context.Context) {
	c.remaining, c.finalizers = map[schema.GroupVersionResource]int{}, map[string]int{}
	resources, err := c.Resources.List()
	if invalid := (*served.InvalidVersionError)(nil); errors.As(err, &invalid) {
		c.invalid = err
	} else {
		c.undiscovered = err
	}
	var others []served.Resource
	for _, r := range resources {
		switch {
		case !r.Namespaced || !r.Can("delete"):
		case r.GroupResource() == podsResource:
			c.deleteAll(ctx, r)
		default:
			others = append(others, r)
		}
	}
	if len(c.remaining) > 0 {
		c.podsOnly = true
		return
	}
	c.deleteOthers(ctx, others)
}

func (c *content) deleteOthers(ctx context.Context, resources []served.Resource) {
	queue := make(chan served.Resource)
	var running sync.WaitGroup
	for range parallel {
		running.Go(func() {
			for r := range queue {
				c.deleteAll(ctx, r)
			}
		})
	}
	for _, r := range resources {
		if n, known := c.count(ctx, r); known && n == 0 {
			continue
		}
		queue <- r
	}
	close(queue)
	running.Wait()
}

// count returns the number of objects of a resource. known is false if the number can't be determined without a
// request.
func (c *content) count(ctx context.Context, r served.Resource) (n int64, known bool) {
	if c.Count == nil {
		return 0, false
	}
	return c.Count(ctx, r, c.namespace)
}

// deleteAll deletes the objects of a resource, and records the remaining objects.
func (c *content) deleteAll(ctx context.Context, r served.Resource) {
	if n, known := c.count(ctx, r); known && n == 0 {
		return
	}
	left, estimate, err := c.deleteObjects(ctx, r)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.estimate = max(c.estimate, estimate)
	if err != nil {
		c.undeleted = append(c.undeleted, err)
	}
	if len(left) == 0 {
		return
	}
	c.remaining[r.GroupVersionResource] = len(left)
	for _, object := range left {
		for _, finalizer := range object.Finalizers {
			c.finalizers[finalizer]++
		}
	}
}

// deleteObjects deletes the objects of a resource. It returns the remaining objects, and the estimated time in
// seconds until they are gone.
func (c *content) deleteObjects(ctx context.Context, r served.Resource) (left []metav1.PartialObjectMetadata, estimate int64, err error) {
	if r.GroupResource() == podsResource {
		if estimate, err = c.grace(ctx); err != nil {
			return nil, 0, err
		}
	}
	client := c.Metadata.Resource(r.GroupVersionResource).Namespace(c.namespace)
	// Without a policy, some kinds orphan their dependents by default. In a namespace that is being deleted, the
	// dependents must be deleted too.
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{PropagationPolicy: &background}
	collected := false
	if r.Can("deletecollection") {
		err := client.DeleteCollection(ctx, options, metav1.ListOptions{})
		if collected = err == nil; !collected && !isUnsupported(err) {
			return nil, estimate, err
		}
	}
	if !r.Can("list") {
		return nil, estimate, nil
	}
	if !collected {
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, estimate, ignoreUnsupported(err)
		}
		for _, object := range list.Items {
			if err := client.Delete(ctx, object.Name, options); err != nil && !isUnsupported(err) {
				return nil, estimate, err
			}
		}
	}
	if n, known := c.count(ctx, r); known && n == 0 {
		return nil, 0, nil
	}
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, estimate, ignoreUnsupported(err)
	}
	left = list.Items
	switch {
	case len(left) == 0:
		return nil, 0, nil
	case estimate > 0:
		return left, estimate, nil
	}
	for _, object := range left {
		if len(object.Finalizers) > 0 {
			return left, finalizerEstimate, nil
		}
	}
	return left, 0, fmt.Errorf("unexpected items still remain in namespace: %s for gvr: %v", c.namespace, r.GroupVersionResource)
}

// isUnsupported reports whether a request failed because the object is gone, or because the resource doesn't have the
// verb. Discovery may list a verb that the resource doesn't have.
func isUnsupported(err error) bool {
	return apierrors.IsMethodNotSupported(err) || apierrors.IsNotFound(err)
}

func ignoreUnsupported(err error) error {
	if isUnsupported(err) {
		return nil
	}
	return err
}

// grace returns the time in seconds that the pods of the namespace may take to end: the longest
// terminationGracePeriodSeconds of the pods that haven't ended. It returns 0 if this time has passed since the
// deletion of the namespace.
func (c *content) grace(ctx context.Context) (int64, error) {
	pods, err := c.Client.Pods(c.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	var longest int64
	for _, pod := range pods.Items {
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if grace := pod.Spec.TerminationGracePeriodSeconds; !ended && grace != nil {
			longest = max(longest, *grace)
		}
	}
	if time.Since(c.deleted) >= time.Duration(longest)*time.Second {
		return 0, nil
	}
	return longest, nil
}

// err returns the errors that have prevented the deletion of the content, or nil.
func (c *content) err() error {
	var errs []error
	for _, err := range append([]error{c.undiscovered, c.invalid}, c.undeleted...) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return utilerrors.NewAggregate(errs)
}
