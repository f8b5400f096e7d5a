// Package statefulset is the controller statefulset-controller: it gives a StatefulSet pods with stable names and claims,
// one after the other, and updates them in the same way.
//
// [New] starts the controller.
package statefulset

import (
	"cmp"
	"context"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
	"github.com/miniapi-dev/miniapi/pkg/controllers/revisions"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Account is the name of the controller's service account, and the source of its Events.
	Account = "statefulset-controller"

	// workers is the number of StatefulSets that are handled at the same time, as in kube-controller-manager.
	workers = 5
)

var kind = appsv1.SchemeGroupVersion.WithKind("StatefulSet")

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client appsv1client.AppsV1Interface
	Core   corev1client.CoreV1Interface
	Events *eventrecorder.Recorder
	// Sets, Revisions, Pods and Claims are the informers of StatefulSets, ControllerRevisions, pods and
	// PersistentVolumeClaims.
	Sets, Revisions, Pods, Claims cache.SharedIndexInformer
}

// New starts the controller.
func New(config Config) error {
	c := &controller{Config: config, history: revisions.History{Client: config.Client, Informer: config.Revisions}}
	queue := work.NewQueue(config.Runner, work.Options[string]{Name: Account, Workers: workers, Do: c.sync})
	for _, informer := range []cache.SharedIndexInformer{config.Revisions, config.Pods} {
		if err := owned.Index(informer); err != nil {
			return err
		}
	}
	owners := owned.Owners{Kind: kind.Kind, Informer: config.Sets, Selector: func(obj any) (labels.Selector, error) {
		return metav1.LabelSelectorAsSelector(obj.(*appsv1.StatefulSet).Spec.Selector)
	}}
	return work.Enqueue(
		work.Events{Informer: config.Sets, Changed: func(o metav1.Object) { queue.Add(owned.Key(o)) }},
		owners.Events(config.Pods, queue.Add),
		work.Events{Informer: config.Claims, Deleted: func(claim metav1.Object) { c.claimDeleted(claim, queue.Add) }},
	)
}

type controller struct {
	Config
	history revisions.History
}

// claimDeleted calls add with the key of the StatefulSet to which a claim belonged: a pod may have waited until the claim
// of an earlier pod was gone.
func (c *controller) claimDeleted(claim metav1.Object, add func(string)) {
	all, err := c.Sets.GetIndexer().ByIndex(cache.NamespaceIndex, claim.GetNamespace())
	if err != nil {
		return // the error is impossible: the index exists
	}
	for _, obj := range all {
		set := obj.(*appsv1.StatefulSet)
		for _, template := range set.Spec.VolumeClaimTemplates {
			if strings.HasPrefix(claim.GetName(), template.Name+"-"+set.Name+"-") {
				add(owned.Key(set))
			}
		}
	}
}

// sync brings the pods of a StatefulSet a step nearer to its spec, and writes its status.
func (c *controller) sync(ctx context.Context, key string) (time.Duration, error) {
	obj, exists, err := c.Sets.GetStore().GetByKey(key)
	if err != nil || !exists {
		return 0, err
	}
	set := obj.(*appsv1.StatefulSet).DeepCopy()
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return 0, nil // the set is changed before it has a selector that is valid
	}
	claimant := owned.Claimant{Owner: set, Kind: kind, Selector: selector, Live: func(ctx context.Context) (metav1.Object, error) {
		return c.Client.StatefulSets(set.Namespace).Get(ctx, set.Name, metav1.GetOptions{})
	}}
	history, err := c.history.Claim(ctx, claimant)
	if err != nil {
		return 0, err
	}
	claimant.Patch = owned.Pods{Client: c.Core}.Patch(set.Namespace)
	claimant.Selects = func(pod metav1.Object) bool {
		parent, _ := parentOf(pod.GetName())
		return parent == set.Name
	}
	pods, err := owned.Claim(ctx, claimant, owned.Candidates[*corev1.Pod](c.Pods, set))
	if err != nil {
		return 0, err
	}

	u := &update{controller: c, set: set, now: time.Now()}
	err = u.step(ctx, pods, history)
	if cleanupErr := u.deleteHistory(ctx, pods, history); err == nil {
		err = cleanupErr
	}
	if err != nil || u.status.ReadyReplicas == u.status.AvailableReplicas {
		return 0, work.IgnoreStale(err)
	}
	minReady := set.Spec.MinReadySeconds
	return cmp.Or(owned.NextAvailable(pods, minReady, u.now), time.Duration(minReady)*time.Second), nil
}
