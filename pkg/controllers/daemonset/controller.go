// Package daemonset is the controller daemonset-controller: it gives a DaemonSet a pod on each node that its template fits.
//
// [New] starts the controller. The scheduler binds the pods; each of them selects its node.
package daemonset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
	"github.com/miniapi-dev/miniapi/pkg/controllers/revisions"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Account is the name of the controller's service account.
	Account = "daemon-set-controller"
	// Component is the source of the controller's Events.
	Component = "daemonset-controller"

	// The values are those of kube-controller-manager: the number of DaemonSets that are handled at the same time, the
	// number of pods that are created or deleted before the DaemonSet is looked at again, and the times between deletions
	// of failed pods on a node.
	workers     = 2
	burst       = 250
	firstDelay  = time.Second
	longestWait = 15 * time.Minute

	// generationLabel is the label of a pod with the generation of its template, which has no effect in apps/v1.
	generationLabel = "pod-template-generation"
)

var kind = appsv1.SchemeGroupVersion.WithKind("DaemonSet")

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client appsv1client.AppsV1Interface
	// Pods creates and deletes pods.
	Pods owned.Pods
	// Sets, Revisions, PodInformer and Nodes are the informers of DaemonSets, ControllerRevisions, pods and nodes.
	Sets, Revisions, PodInformer, Nodes cache.SharedIndexInformer
}

// New starts the controller.
func New(config Config) error {
	c := newController(config)
	queue := work.NewQueue(config.Runner, work.Options[string]{Name: Account, Workers: workers, Do: c.sync})
	for _, informer := range []cache.SharedIndexInformer{config.Revisions, config.PodInformer} {
		if err := owned.Index(informer); err != nil {
			return err
		}
	}
	owners := owned.Owners{Kind: kind.Kind, Informer: config.Sets, Selector: func(obj any) (labels.Selector, error) {
		return metav1.LabelSelectorAsSelector(obj.(*appsv1.DaemonSet).Spec.Selector)
	}}
	all := func(metav1.Object) {
		for _, key := range config.Sets.GetStore().ListKeys() {
			queue.Add(key)
		}
	}
	return work.Enqueue(
		work.Events{Informer: config.Sets, Changed: func(o metav1.Object) { queue.Add(owned.Key(o)) }},
		owners.Events(config.PodInformer, queue.Add),
		owners.Events(config.Revisions, queue.Add),
		work.Events{Informer: config.Nodes, Changed: all, Deleted: all, Updated: func(before, after metav1.Object) {
			if !sameForPods(before.(*corev1.Node), after.(*corev1.Node)) {
				all(after)
			}
		}},
	)
}

// sameForPods reports whether two states of a node are the same for the pods that fit it.
func sameForPods(a, b *corev1.Node) bool {
	return equality.Semantic.DeepEqual(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints)
}

type controller struct {
	Config
	history revisions.History
	// failed limits the deletions of failed pods, by DaemonSet and node.
	failed *flowcontrol.Backoff
}

func newController(config Config) *controller {
	return &controller{config, revisions.History{Client: config.Client, Informer: config.Revisions}, flowcontrol.NewBackOff(firstDelay, longestWait)}
}

// rollout is a step of the work on a DaemonSet.
type rollout struct {
	*controller
	set       *appsv1.DaemonSet
	claimant  owned.Claimant
	placement placement
	nodes     []*corev1.Node
	// pods has the pods of the DaemonSet by their node.
	pods map[string][]*corev1.Pod
	// hash is the label of pods with the present template.
	hash string
	now  time.Time
	// again is the time after which the DaemonSet must be handled again, or 0.
	again time.Duration
}

// sync creates and deletes pods of a DaemonSet, and writes its status.
func (c *controller) sync(ctx context.Context, key string) (time.Duration, error) {
	obj, exists, err := c.Sets.GetStore().GetByKey(key)
	if err != nil || !exists {
		return 0, err
	}
	set := obj.(*appsv1.DaemonSet)
	if set.DeletionTimestamp != nil {
		return 0, nil // the garbage collector deletes the history in any order, so the status can't be computed
	}
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return 0, nil // the set is changed before it has a selector that is valid
	}
	r := &rollout{controller: c, set: set, placement: newPlacement(&set.Spec.Template), now: time.Now(), claimant: owned.Claimant{
		Owner: set, Kind: kind, Selector: selector, Live: func(ctx context.Context) (metav1.Object, error) {
			return c.Client.DaemonSets(set.Namespace).Get(ctx, set.Name, metav1.GetOptions{})
		},
	}}
	for _, obj := range c.Nodes.GetStore().List() {
		r.nodes = append(r.nodes, obj.(*corev1.Node))
	}
	slices.SortFunc(r.nodes, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	r.claimant.Patch = c.Pods.Patch(set.Namespace)
	pods, err := owned.Claim(ctx, r.claimant, owned.Candidates[*corev1.Pod](c.PodInformer, set))
	if err != nil {
		return 0, err
	}
	old, err := r.findRevision(ctx, pods)
	if err != nil {
		return 0, work.IgnoreStale(err)
	}
	r.pods = byNode(pods)
	err = r.change(ctx, pods, old)
	if statusErr := r.writeStatus(ctx); err == nil {
		err = statusErr
	}
	return r.again, work.IgnoreStale(err)
}

// byNode returns the pods of each node. A pod that has ended and is being deleted has left its node.
func byNode(pods []*corev1.Pod) map[string][]*corev1.Pod {
	nodes := map[string][]*corev1.Pod{}
	for _, pod := range pods {
		hasLeft := owned.HasEnded(pod) && pod.DeletionTimestamp != nil
		if node := targetOf(pod); node != "" && !hasLeft {
			nodes[node] = append(nodes[node], pod)
		}
	}
	for _, pods := range nodes {
		slices.SortFunc(pods, older)
	}
	return nodes
}

// older compares pods of a node: bound ones come first, and then older ones.
func older(a, b *corev1.Pod) int {
	unbound := func(pod *corev1.Pod) int {
		if pod.Spec.NodeName == "" {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(unbound(a), unbound(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// change creates missing pods and deletes surplus ones. If there are none, it goes on with a rolling update.
func (r *rollout) change(ctx context.Context, pods []*corev1.Pod, old []*appsv1.ControllerRevision) error {
	var c changes
	for _, node := range r.nodes {
		r.manage(node, &c)
	}
	c.delete = append(c.delete, r.stranded()...)
	if c.isEmpty() && r.set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		c = r.update()
	}
	if err := r.apply(ctx, c); err != nil {
		return err
	}
	return r.deleteHistory(ctx, pods, old)
}

// changes are the nodes that need a pod, and the pods that must go.
type changes struct {
	create []string
	delete []*corev1.Pod
}

func (c changes) isEmpty() bool { return len(c.create)+len(c.delete) == 0 }

// stranded returns the pods for nodes that no longer exist, which nobody else deletes as long as they aren't bound.
func (r *rollout) stranded() (stranded []*corev1.Pod) {
	for name, pods := range r.pods {
		if slices.ContainsFunc(r.nodes, func(node *corev1.Node) bool { return node.Name == name }) {
			continue
		}
		for _, pod := range pods {
			if pod.Spec.NodeName == "" {
				stranded = append(stranded, pod)
			}
		}
	}
	return stranded
}

func (r *rollout) apply(ctx context.Context, c changes) error {
	template := r.set.Spec.Template.DeepCopy()
	template.Spec.Tolerations = r.placement.tolerations
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	template.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = r.hash
	if generation, ok := generationOf(r.set); ok {
		template.Labels[generationLabel] = generation
	}
	controller := metav1.NewControllerRef(r.set, kind)
	_, err := owned.SlowStart(min(len(c.create), burst), func(i int) error {
		pod := owned.NewPod(template, r.set, controller)
		pod.Spec.Affinity = onlyOn(pod.Spec.Affinity, c.create[i])
		err := r.Pods.Create(ctx, r.set, pod)
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return nil // no pod can be created any more
		}
		return err
	})
	errs := owned.Each(min(len(c.delete), burst), func(i int) error { return r.Pods.Delete(ctx, r.set, c.delete[i]) })
	return utilerrors.NewAggregate(append(errs, err))
}

// generationOf returns the generation of a DaemonSet's template, which the server keeps in an annotation.
func generationOf(set *appsv1.DaemonSet) (string, bool) {
	generation, err := strconv.ParseInt(set.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	return strconv.FormatInt(generation, 10), err == nil
}

// isUpdated reports whether a pod has the present template.
func (r *rollout) isUpdated(pod *corev1.Pod) bool {
	generation, ok := generationOf(r.set)
	return pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == r.hash || ok && pod.Labels[generationLabel] == generation
}

func (r *rollout) isAvailable(pod *corev1.Pod) bool {
	return owned.IsAvailable(pod, r.set.Spec.MinReadySeconds, r.now)
}

// repeatAfter makes the DaemonSet be handled again after a time, or earlier.
func (r *rollout) repeatAfter(after time.Duration) {
	if r.again == 0 || after < r.again {
		r.again = after
	}
}

// mayDeleteFailed reports whether a failed pod on a node may be deleted now. Each deletion doubles the delay of the next.
func (r *rollout) mayDeleteFailed(node string) bool {
	key := fmt.Sprintf("%s/%d/%s", r.set.UID, r.set.Status.ObservedGeneration, node)
	if r.failed.IsInBackOffSinceUpdate(key, r.now) {
		r.repeatAfter(r.failed.Get(key))
		return false
	}
	r.failed.GC()
	r.failed.Next(key, r.now)
	return true
}
