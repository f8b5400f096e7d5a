// Package nodettl is the controller ttl-controller: it writes for how long kubelets keep Secrets and ConfigMaps into an
// annotation of their nodes. In a large cluster, the time is longer.
//
// [New] starts the controller.
package nodettl

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// Account is the name of the controller's service account.
const Account = "ttl-controller"

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client corev1client.NodesGetter
	// Nodes is the informer of nodes.
	Nodes cache.SharedIndexInformer
}

// New starts the controller.
func New(config Config) error {
	c := &controller{Config: config}
	c.queue = work.NewQueue(config.Runner, work.Options[string]{Name: Account, Workers: 5, Do: c.sync})
	return work.Enqueue(work.Events{Informer: config.Nodes, Changed: c.changed, Deleted: c.changed})
}

type controller struct {
	Config
	queue *work.Queue[string]

	mu      sync.Mutex
	seconds string // the time of the present size
}

// changed adds a node, and all nodes if the time is another one since its change.
func (c *controller) changed(o metav1.Object) {
	names := []string{o.GetName()}
	all := c.Nodes.GetStore().ListKeys()
	c.mu.Lock()
	if seconds := secondsOf(len(all), c.seconds); seconds != c.seconds {
		c.seconds, names = seconds, all
	}
	c.mu.Unlock()
	for _, name := range names {
		c.queue.Add(name)
	}
}

// sizes have the time of each size of a cluster. The steps are kube-controller-manager's, which overlap so that the time
// doesn't change with every node: a cluster that grows comes to the next step at most, one that shrinks at least.
var sizes = []struct {
	least, most int
	seconds     string
}{{0, 100, "0"}, {90, 500, "15"}, {450, 1000, "30"}, {900, 2000, "60"}, {1800, math.MaxInt, "300"}}

// secondsOf returns the time of a cluster with some nodes, whose time was another one before.
func secondsOf(nodes int, before string) string {
	for _, size := range sizes {
		if size.seconds == before && size.least <= nodes && nodes <= size.most {
			return before
		}
	}
	for _, size := range sizes {
		if nodes <= size.most {
			return size.seconds
		}
	}
	return before
}

// sync writes the annotation of a node.
func (c *controller) sync(ctx context.Context, name string) (time.Duration, error) {
	obj, exists, err := c.Nodes.GetStore().GetByKey(name)
	node, ok := obj.(*corev1.Node)
	if err != nil || !exists || !ok {
		return 0, err
	}
	c.mu.Lock()
	seconds := c.seconds
	c.mu.Unlock()
	if node.Annotations[corev1.ObjectTTLAnnotationKey] == seconds {
		return 0, nil
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, corev1.ObjectTTLAnnotationKey, seconds)
	_, err = c.Client.Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return 0, work.IgnoreGone(err)
}
