package scheduler

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-helpers/storage/volume"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// User is the name of the user that makes the scheduler's requests.
	User = "system:kube-scheduler"
	// Name is the schedulerName of the scheduler's pods.
	Name = corev1.DefaultSchedulerName

	// writers is the number of pods for which requests are made at the same time.
	writers = 16
)

// Config has the dependencies of a scheduler.
type Config struct {
	Runner *work.Runner
	// Client binds pods and volumes, writes the status of pods, and deletes preempted pods. Events records Events.
	Client    Client
	Events    eventsv1client.EventsV1Interface
	Informers informers.SharedInformerFactory
}

// Client makes the requests of a scheduler.
type Client interface {
	corev1client.PodsGetter
	corev1client.PersistentVolumesGetter
	corev1client.PersistentVolumeClaimsGetter
}

// New starts a scheduler. The function forget must be called when the informers know the objects of a restored snapshot.
func New(config Config) (forget func(), err error) {
	core, apps, kept := config.Informers.Core().V1(), config.Informers.Apps().V1(), config.Informers.Storage().V1()
	s := &scheduler{
		Client: config.Client,
		events: newRecorder(config.Runner.Life(), config.Events),
		owners: owners{core.Services().Lister(), core.ReplicationControllers().Lister(), apps.ReplicaSets().Lister(), apps.StatefulSets().Lister()},
		storage: storage{
			core.PersistentVolumeClaims().Lister(), core.PersistentVolumes().Lister(), kept.StorageClasses().Lister(), kept.CSIDrivers().Lister(),
			kept.CSIStorageCapacities().Lister(), kept.CSINodes().Lister(), kept.VolumeAttachments().Lister(),
		},
		namespaces: core.Namespaces().Lister(), budgets: config.Informers.Policy().V1().PodDisruptionBudgets().Lister(),
		cluster: newCluster(), queue: newQueue(), outcomes: map[types.UID]*outcome{},
	}
	s.cycles = work.NewQueue(config.Runner, work.Options[struct{}]{Name: Name, Do: s.schedule})
	s.writes = work.NewQueue(config.Runner, work.Options[types.UID]{Name: Name, Workers: writers, Do: s.write})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.synced, err = work.Follow(
		work.Events{Informer: core.Namespaces().Informer()},
		work.Events{Informer: core.Services().Informer()},
		work.Events{Informer: core.ReplicationControllers().Informer()},
		work.Events{Informer: apps.ReplicaSets().Informer()},
		work.Events{Informer: apps.StatefulSets().Informer()},
		work.Events{Informer: config.Informers.Policy().V1().PodDisruptionBudgets().Informer()},
		s.storageEvents(core.PersistentVolumes().Informer()),
		s.storageEvents(core.PersistentVolumeClaims().Informer()),
		s.storageEvents(kept.StorageClasses().Informer()),
		s.storageEvents(kept.CSIDrivers().Informer()),
		s.storageEvents(kept.CSIStorageCapacities().Informer()),
		s.storageEvents(kept.CSINodes().Informer()),
		s.storageEvents(kept.VolumeAttachments().Informer()),
		work.Events{Informer: core.Nodes().Informer(), Changed: s.nodeChanged, Deleted: s.nodeDeleted},
		work.Events{Informer: core.Pods().Informer(), Changed: s.podChanged, Deleted: s.podDeleted},
	)
	return s.forget, err
}

// scheduler has the record of nodes and pods, the queue, and the requests to make. All are guarded by mu, also while a
// cycle runs.
type scheduler struct {
	Client     Client
	events     *recorder
	owners     owners
	storage    storage
	namespaces corelisters.NamespaceLister
	budgets    policylisters.PodDisruptionBudgetLister

	// synced tells when the scheduler knows the objects that existed at the start.
	synced []cache.DoneChecker

	// cycles has its only key when a pod may have to be scheduled. writes has the pods with an outcome.
	cycles *work.Queue[struct{}]
	writes *work.Queue[types.UID]

	mu       sync.Mutex
	cluster  cluster
	queue    queue
	outcomes map[types.UID]*outcome
}

func (s *scheduler) nodeChanged(o metav1.Object) {
	after, ok := o.(*corev1.Node)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.helpByNode(s.cluster.setNode(after), after)
}

func (s *scheduler) nodeDeleted(o metav1.Object) {
	before, ok := o.(*corev1.Node)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cluster.removeNode(before.Name)
	s.helpByNode(before, nil)
}

// storageEvents has the functions for one kind of the objects of storage.
func (s *scheduler) storageEvents(informer cache.SharedIndexInformer) work.Events {
	return work.Events{
		Informer: informer,
		Changed:  func(o metav1.Object) { s.storageChanged(nil, o) },
		Updated:  s.storageChanged,
		Deleted:  func(o metav1.Object) { s.storageChanged(o, nil) },
	}
}

// storageChanged handles a changed object of storage. The argument before or after is nil if the object was created or deleted.
func (s *scheduler) storageChanged(before, after metav1.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.help(func(p plugin, w *waiting) bool {
		return p.afterStorage != nil && p.afterStorage(w.podInfo, before, after)
	})
	if claim, ok := after.(*corev1.PersistentVolumeClaim); ok {
		old, _ := before.(*corev1.PersistentVolumeClaim)
		s.claimChanged(old, claim)
	}
}

// claimChanged lets the pods go on that are bound after a claim: it is bound, or its provisioner has given the node up.
func (s *scheduler) claimChanged(before, after *corev1.PersistentVolumeClaim) {
	for uid, o := range s.outcomes {
		if o.node == "" || !o.pod.usesClaim(after) {
			continue
		}
		if before != nil && before.Annotations[volume.AnnSelectedNode] == o.node && after.Annotations[volume.AnnSelectedNode] != o.node {
			o.givenUp = after.Name
		}
		if o.givenUp != "" || isBound(after) {
			s.writes.Add(uid)
		}
	}
}

func (s *scheduler) helpByNode(before, after *corev1.Node) {
	s.help(func(p plugin, w *waiting) bool { return p.afterNode != nil && p.afterNode(w.podInfo, before, after) })
}

func (s *scheduler) helpByPod(before, after *podInfo) {
	s.help(func(p plugin, w *waiting) bool { return p.afterPod != nil && p.afterPod(w.podInfo, before, after) })
}

// help lets the refused pods be tried again which a change may help, according to one of the plugins that have refused
// them. If there was no node to refuse, any change may help.
func (s *scheduler) help(helps func(plugin, *waiting) bool) {
	helped := s.queue.help(func(w *waiting) bool {
		if w.refusedBy.Len() > 0 && !slices.ContainsFunc(plugins, func(p plugin) bool { return w.refusedBy.Has(p.name) && helps(p, w) }) {
			return false
		}
		// While the pod's victims are being deleted, each deletion helps a little. Try when all are done.
		o := s.outcomes[w.UID]
		deletes := o != nil && len(o.victims) > 0
		if deletes {
			o.again = true
		}
		return !deletes
	})
	if helped {
		s.cycles.Add(struct{}{})
	}
}

// retry lets a refused pod be tried again.
func (s *scheduler) retry(w *waiting) {
	if s.queue.help(func(other *waiting) bool { return other == w }) {
		s.cycles.Add(struct{}{})
	}
}

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func (s *scheduler) podChanged(o metav1.Object) {
	pod, ok := o.(*corev1.Pod)
	switch {
	case !ok:
		return
	case hasEnded(pod): // the pod uses no resources
		s.podDeleted(pod)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if pod.Spec.NodeName != "" {
		s.bound(newPodInfo(pod))
		return
	}
	if known := s.cluster.pods[pod.UID]; known != nil {
		if known.isAssumed() {
			return
		}
		s.cluster.unassign(pod.UID) // a restored snapshot is from before the binding
	}
	if pod.Spec.SchedulerName == Name {
		s.unbound(newPodInfo(pod))
	}
}

// bound records a pod that has a node.
func (s *scheduler) bound(pod *podInfo) {
	if w := s.queue.pods[pod.UID]; w != nil {
		s.cluster.nominate(w.podInfo, "")
		s.queue.remove(pod.UID)
	}
	before := s.cluster.assign(pod, pod.Spec.NodeName)
	if before != nil && before.Spec.NodeName == "" { // the scheduler has chosen the node
		before = nil
	}
	s.helpByPod(before, pod)
}

// unbound records a pod that waits for a node.
func (s *scheduler) unbound(pod *podInfo) {
	w := s.queue.pods[pod.UID]
	if w == nil {
		s.queue.add(pod)
		s.cluster.nominate(pod, pod.Status.NominatedNodeName)
		s.cycles.Add(struct{}{})
		return
	}
	before, node := w.podInfo, w.waitsFor
	if before.Status.NominatedNodeName != pod.Status.NominatedNodeName {
		node = pod.Status.NominatedNodeName
	}
	s.cluster.nominate(before, "")
	w.podInfo = pod
	s.cluster.nominate(pod, node)
	if w.in == nil && len(pod.Spec.SchedulingGates) == 0 {
		w.put(&s.queue.active)
		s.cycles.Add(struct{}{})
		return
	}
	if slices.ContainsFunc(plugins, func(p plugin) bool {
		return w.refusedBy.Has(p.name) && p.afterItself != nil && p.afterItself(before, pod)
	}) {
		s.retry(w)
	}
}

func (s *scheduler) podDeleted(o metav1.Object) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.queue.pods[pod.UID]; w != nil {
		waitedFor := w.waitsFor
		s.cluster.nominate(w.podInfo, "")
		s.queue.remove(pod.UID)
		if waitedFor != "" {
			s.helpByPod(w.podInfo, nil)
		}
	}
	delete(s.outcomes, pod.UID)
	if before := s.cluster.unassign(pod.UID); before != nil {
		s.helpByPod(before, nil)
	}
}

// forget schedules the pods again that have a node according to the scheduler alone: a restored snapshot is from before
// their bindings.
func (s *scheduler) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pod := range slices.Collect(maps.Values(s.cluster.pods)) {
		if pod.isAssumed() {
			s.cluster.unassign(pod.UID)
			delete(s.outcomes, pod.UID)
			s.unbound(newPodInfo(pod.Pod))
		}
	}
}

// schedule runs cycles until no pod is left to schedule.
func (s *scheduler) schedule(ctx context.Context, _ struct{}) (time.Duration, error) {
	s.mu.Lock()
	synced := s.synced
	s.mu.Unlock()
	for _, known := range synced {
		select {
		case <-known.Done():
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	for ctx.Err() == nil {
		if after, left := s.scheduleNext(); !left {
			return after, nil
		}
	}
	return 0, ctx.Err()
}

// noPreemption ends the message for a pod for which a plugin has refused all nodes at once. It is the error that
// kube-scheduler's preemption ends with in this case.
const noPreemption = "not found"

// scheduleNext runs a cycle for the next pod. If none is left, it returns the time after which one will be.
func (s *scheduler) scheduleNext() (after time.Duration, left bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.queue.next()
	if w == nil {
		return s.queue.wake(), false
	}
	if w.DeletionTimestamp != nil {
		s.queue.remove(w.UID)
		s.events.warn(w.Pod, "skip schedule deleting pod: "+w.Namespace+"/"+w.Name)
		return 0, true
	}
	c := &cycle{cluster: &s.cluster, owners: s.owners, storage: s.storage, namespaces: s.namespaces, pod: w.podInfo}
	if len(s.cluster.existing) == 0 {
		s.refuse(w, nil, "no nodes available to schedule pods", nil, false)
		return 0, true
	}
	if r := c.prepare(); r != nil {
		s.refuse(w, sets.New(r.by), noneAvailable(len(s.cluster.existing))+" "+strings.Join(r.reasons, ", ")+". "+noPreemption, nil, true)
		return 0, true
	}
	nodes, refused := c.feasible()
	if len(nodes) == 0 {
		s.refused(c, w, refused, unavailable(len(s.cluster.existing), refused))
		return 0, true
	}
	s.assume(w, c.best(nodes))
	return 0, true
}

// refused handles a pod that no node takes. The pod may get a node by the preemption of other pods.
func (s *scheduler) refused(c *cycle, w *waiting, nodes verdicts, message string) {
	by := sets.New[string]()
	for _, r := range nodes {
		by.Insert(r.by)
	}
	var budgets []*policyv1.PodDisruptionBudget
	if all, err := s.budgets.List(labels.Everything()); err == nil {
		budgets = all
	}
	found, keep, more := c.preempt(nodes, budgets)
	s.refuse(w, by, message+" preemption: "+more, found, keep)
}

// refuse lets a pod wait. If found isn't nil, the pod waits for this node, and the victims on it are deleted. keep is
// true if the pod goes on waiting for the same node.
func (s *scheduler) refuse(w *waiting, by sets.Set[string], message string, found *candidate, keep bool) {
	o := &outcome{pod: w.podInfo, reason: corev1.PodReasonUnschedulable, message: message}
	if found != nil {
		o.victims = found.victims
		for _, other := range found.nominated {
			if other.priority < w.priority && slices.ContainsFunc(found.victims, remains) {
				o.displaced = append(o.displaced, other)
			}
		}
		for _, other := range o.displaced {
			s.cluster.nominate(other, "")
		}
		s.cluster.nominate(w.podInfo, found.name)
	} else if !keep {
		s.cluster.nominate(w.podInfo, "")
	}
	o.nominated = w.waitsFor
	s.queue.refuse(w, by)
	s.record(o)
}

// assume records that a pod is on a node, and lets the pod be bound.
func (s *scheduler) assume(w *waiting, n *node) {
	s.queue.remove(w.UID)
	s.cluster.nominate(w.podInfo, "")
	s.cluster.assign(w.podInfo, n.name)
	s.record(&outcome{pod: w.podInfo, node: n.name, waited: w})
}

// record lets the requests of an outcome be made.
func (s *scheduler) record(o *outcome) {
	if o.node == "" {
		s.events.warn(o.pod.Pod, o.message)
	}
	s.outcomes[o.pod.UID] = o
	s.writes.Add(o.pod.UID)
}
