package garbage

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/objects"
	"github.com/miniapi-dev/miniapi/pkg/controllers/served"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Name is the name of the controller's service account. In the log, it is the name of the controller.
	Name = "generic-garbage-collector"
	// Component is the source of the controller's events.
	Component = "garbage-collector-controller"

	// workers is the number of goroutines that check objects. The same number of goroutines removes references to
	// owners that are deleted with the policy Orphan.
	workers = 20
)

// Config has the dependencies of a collector.
type Config struct {
	Runner    *work.Runner
	Client    metadata.Interface
	Resources *served.Resources
	Events    *eventrecorder.Recorder
}

// Collector deletes objects whose owners are gone. Its Handler must get the events of all objects.
type Collector struct {
	requests
	events *eventrecorder.Recorder
	graph  *graph
	// remove is the queue of objects that may have to be deleted. orphan is the queue of owners that are being
	// deleted with the policy Orphan. The collector removes the references to these owners from their dependents.
	remove, orphan *work.Queue[types.UID]
	// begun is closed by Begin.
	begun chan struct{}
}

// New returns a collector. It does nothing before Begin.
func New(config Config) *Collector {
	c := &Collector{requests: requests{config.Client, config.Resources}, events: config.Events, graph: newGraph(), begun: make(chan struct{})}
	c.remove = work.NewQueue(config.Runner, work.Options[types.UID]{Name: Name, Workers: workers, Do: c.consider})
	c.orphan = work.NewQueue(config.Runner, work.Options[types.UID]{Name: Name, Workers: workers, Do: c.orphanDependents})
	c.graph.remove, c.graph.orphan, c.graph.retry = c.remove.Add, c.orphan.Add, c.remove.AddLimited
	c.graph.misplaced = c.reportMisplaced
	return c
}

// Handler returns the handler that must get the events of all objects.
func (c *Collector) Handler() objects.Handler { return c.graph }

// Begin lets the collector work. It must be called only after the handler has received every stored object.
// Otherwise the collector would not find all dependents of an owner, and would remove the finalizer of the owner
// too early.
func (c *Collector) Begin() { close(c.begun) }

// Forget drops the list of absent owners, and finds the dependents of restored owners. It must be called when a restored
// snapshot may have brought owners back.
func (c *Collector) Forget() { c.graph.ownersRestored() }

func (c *Collector) reportMisplaced(dependent identity, owner metav1.OwnerReference) {
	about := &corev1.ObjectReference{
		Kind: dependent.Kind, APIVersion: dependent.APIVersion, Namespace: dependent.Namespace, Name: dependent.Name, UID: dependent.UID,
	}
	c.events.Warn(about, "OwnerRefInvalidNamespace", "ownerRef %s does not exist in namespace %q", referred(owner, dependent.Namespace), dependent.Namespace)
}

// errUnseen is the error for an owner that the server has, but that the source of objects hasn't reported yet. It makes
// the queue check the owner again. Waiting for a report isn't enough: the source never reports an owner that is created
// and deleted between two lists.
var errUnseen = errors.New("the garbage collector hasn't received this owner yet, and checks it again")

// await waits for Begin.
func (c *Collector) await(ctx context.Context) error {
	select {
	case <-c.begun:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// consider checks whether an object must be deleted, and deletes it.
func (c *Collector) consider(ctx context.Context, uid types.UID) (time.Duration, error) {
	if err := c.await(ctx); err != nil {
		return 0, err
	}
	n, found := c.graph.view(uid)
	if !found {
		return 0, nil
	}
	err := c.judge(ctx, n)
	switch {
	case errors.Is(err, errMissed):
		c.graph.missed(n.identity)
		return 0, nil
	case errors.Is(err, errNamespacedOwner):
		return 0, nil // a repetition would find the same error
	case err != nil:
		return 0, fmt.Errorf("%s: %w", n.identity, err)
	case n.virtual:
		return 0, fmt.Errorf("%s: %w", n.identity, errUnseen)
	}
	return 0, nil
}

// judge reads an object and its owners from the server, and applies the rules of garbage collection to the object.
func (c *Collector) judge(ctx context.Context, n node) error {
	if n.deleting && !n.waits {
		return nil // the dependents are considered when the object is gone
	}
	live, err := c.get(ctx, n.identity)
	if err != nil {
		return err
	}
	if n.waits {
		return c.finishForeground(ctx, n)
	}
	if len(live.OwnerReferences) == 0 {
		return nil
	}
	owners, err := c.classify(ctx, n, live.OwnerReferences)
	if err != nil {
		return err
	}
	switch {
	case len(owners.present) > 0:
		if gone := append(owners.absent, owners.waiting...); len(gone) > 0 {
			return c.removeOwners(ctx, n.identity, gone)
		}
		return nil
	case len(owners.waiting) > 0:
		if dependents := c.graph.dependents(n.UID); len(dependents) > 0 {
			return c.deleteInForeground(ctx, n, live, dependents)
		}
	}
	return c.delete(ctx, n.identity, live, propagation(live))
}

// propagation returns the propagation policy whose finalizer an object has. Without such a finalizer, it returns
// Background.
func propagation(live *metav1.PartialObjectMetadata) metav1.DeletionPropagation {
	switch o := objects.New(live.GroupVersionKind(), live); {
	case o.Orphan:
		return metav1.DeletePropagationOrphan
	case o.Foreground:
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

// classified has the owners of an object in three lists. present has the owners that exist. absent has the owners
// that don't exist. waiting has the owners that are being deleted and wait until their dependents are gone.
type classified struct {
	present         []metav1.OwnerReference
	absent, waiting []types.UID
}

func (c *Collector) classify(ctx context.Context, n node, owners []metav1.OwnerReference) (classified, error) {
	var all classified
	for _, r := range owners {
		live, err := c.owner(ctx, n.Namespace, r)
		switch {
		case err != nil:
			return classified{}, err
		case live == nil:
			all.absent = append(all.absent, r.UID)
		case live.DeletionTimestamp != nil && objects.New(live.GroupVersionKind(), live).Foreground:
			all.waiting = append(all.waiting, r.UID)
		default:
			all.present = append(all.present, r)
		}
	}
	return all, nil
}

// owner returns the owner to which a reference refers, or nil if the owner doesn't exist. The object with the
// reference is in the namespace.
func (c *Collector) owner(ctx context.Context, namespace string, r metav1.OwnerReference) (*metav1.PartialObjectMetadata, error) {
	id := referred(r, namespace)
	if c.graph.isAbsent(id) || c.graph.isAbsent(id.in("")) {
		return nil, nil
	}
	resource, namespaced, err := c.resources.ResourceOf(id.groupVersionKind())
	if err != nil {
		return nil, err
	}
	switch {
	case !namespaced:
		id.Namespace = ""
	case namespace == "":
		return nil, errNamespacedOwner
	}
	live, err := c.client.Resource(resource).Namespace(id.Namespace).Get(ctx, id.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && live.UID != id.UID {
		c.graph.setAbsent(id)
		return nil, nil
	}
	return live, err
}

// deleteInForeground deletes an object that has dependents and whose owner waits for it. If one of the dependents
// also waits for its own dependents, the objects may form a circle. The object then stops blocking its owners.
func (c *Collector) deleteInForeground(ctx context.Context, n node, live *metav1.PartialObjectMetadata, dependents []node) error {
	for _, d := range dependents {
		if d.waits {
			if err := c.unblockOwners(ctx, n); err != nil {
				return err
			}
			break
		}
	}
	return c.delete(ctx, n.identity, live, metav1.DeletePropagationForeground)
}

// finishForeground removes the finalizer foregroundDeletion from an object if no dependent blocks its deletion any
// more.
func (c *Collector) finishForeground(ctx context.Context, n node) error {
	blocked := false
	for _, d := range c.graph.dependents(n.UID) {
		if d.blocks(n.UID) {
			blocked = true
			if !d.waits {
				c.remove.Add(d.UID)
			}
		}
	}
	if blocked {
		return nil
	}
	return c.removeFinalizer(ctx, n.identity, metav1.FinalizerDeleteDependents)
}

// orphanDependents removes the references to an owner from its dependents. Then it removes the finalizer orphan
// from the owner.
func (c *Collector) orphanDependents(ctx context.Context, uid types.UID) (time.Duration, error) {
	if err := c.await(ctx); err != nil {
		return 0, err
	}
	n, found := c.graph.view(uid)
	if !found || !n.deleting || !n.orphan { // a restored snapshot may have undone the deletion
		return 0, nil
	}
	for _, d := range c.graph.dependents(uid) {
		if err := c.removeOwners(ctx, d.identity, []types.UID{uid}); err != nil && !isGone(err) {
			return 0, fmt.Errorf("orphaning %s: %w", d.identity, err)
		}
	}
	return 0, c.removeFinalizer(ctx, n.identity, metav1.FinalizerOrphanDependents)
}
