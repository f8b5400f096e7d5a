package kubelet

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/condition"
	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/endpoint"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/stages"
)

// Managed is the annotation of the nodes whose kubelets pretend. Its value is "fake", as in kwok.
const Managed = "kwok.x-k8s.io/node"

// managedValue is the value of the annotation Managed.
const managedValue = "fake"

// userAgent makes "kubelet" the manager of the fields that kubelets write.
const userAgent = "kubelet/miniapi"

// Options configure kubelets.
type Options struct {
	// Nodes is the number of nodes to register.
	Nodes int
	// Stages are the stages of pods and nodes.
	Stages *stages.Choices
	// Runtime runs containers. Without it, all of them pretend to run.
	Runtime Runtime
	// Version is the Kubernetes version that nodes report, such as v1.37.2.
	Version string
}

// Kubelets are the kubelets of a server.
type Kubelets struct {
	Options
	addresses addresses
	endpoint  *endpoint.Endpoint
	changes   condition.Variable[changes]

	runner        *work.Runner
	core          rest.Interface
	leases        rest.Interface
	leaseInformer cache.SharedIndexInformer
	objects       dynamic.Interface
	discovery     discovery.DiscoveryInterface
	mapper        meta.RESTMapper
	config        func(user string) *rest.Config
	podInformer   cache.SharedIndexInformer
	nodes         cache.SharedIndexInformer
	events        *eventrecorder.Recorder
	pods          *player
	nodePlayer    *player
	podQueue      *work.Queue[string]
	nodeQueue     *work.Queue[string]
	others        others
	knowsStages   atomic.Bool // true when the Stage objects of the start are known; stages are played from then on

	mu         sync.Mutex
	unknown    map[string]*corev1.Node // the nodes to register
	authorized map[string]string       // the header Authorization of each node
}

// New returns the kubelets of one server.
func New(o Options) *Kubelets {
	if o.Runtime == nil {
		o.Runtime = pretending{}
	}
	return &Kubelets{Options: o, addresses: newAddresses(), authorized: map[string]string{}}
}

// Component returns the component that runs the kubelets.
func (k *Kubelets) Component() controllers.Component {
	return controllers.Component{
		Name: "kubelet", Add: k.add,
		DialNode: k.dial, Route: k.route,
		Paths: map[string]http.Handler{ControlPath: http.HandlerFunc(k.serveControl)},
	}
}

// byNode is the name of the index of pods by their nodes.
const byNode = "kubelet-node"

func (k *Kubelets) add(h *controllers.Host) error {
	k.runner, k.config = h.Runner, h.ConfigOf
	k.endpoint = endpoint.New(h.Runner.Life(), h.Runner.Go, reachable{k}, k.Stages.Answers())
	var err error
	if k.core, err = k.clientFor(corev1.SchemeGroupVersion); err != nil {
		return err
	}
	if k.leases, err = k.clientFor(coordinationv1.SchemeGroupVersion); err != nil {
		return err
	}
	if k.objects, err = dynamic.NewForConfig(jsonConfig(h)); err != nil {
		return err
	}
	k.discovery, k.mapper = h.Discovery, h.Mapper
	k.events = eventrecorder.NewRecorder(h.Runner.Life(), corev1client.New(k.core), "kubelet")
	k.podInformer, k.nodes = h.Informers.Core().V1().Pods().Informer(), h.Informers.Core().V1().Nodes().Informer()
	k.leaseInformer = h.Informers.Coordination().V1().Leases().Informer() // the node lifecycle controller has it too
	if err := k.podInformer.AddIndexers(cache.Indexers{byNode: nodeOf}); err != nil {
		return err
	}
	k.pods = newPlayer(k, stages.Pod, "pods", k.core, k.podInformer.GetStore(), k.hasPod)
	k.nodePlayer = newPlayer(k, stages.Node, "nodes", k.core, k.nodes.GetStore(), k.hasNode)
	k.podQueue = work.NewQueue(h.Runner, work.Options[string]{Name: "pods of the kubelets", Workers: 8, Do: k.advancePod})
	k.nodeQueue = work.NewQueue(h.Runner, work.Options[string]{Name: "nodes of the kubelets", Workers: 4, Do: k.syncNode})
	if err := k.Runtime.Start(h, k.events, k.coreOf, k.podQueue.Add); err != nil {
		return err
	}
	k.register()
	k.followStages(h)
	h.OnRestore(k.forget)
	h.OnLoss(func() { k.Runtime.Keep(nil) })
	return work.Enqueue(
		work.Events{Informer: k.podInformer, Changed: k.podChanged, Deleted: k.podDeleted},
		work.Events{Informer: k.nodes, Changed: k.nodeChanged, Deleted: work.Named(k.nodePlayer.drop)},
	)
}

// clientFor returns a client of an API group, for requests with the credentials of any kubelet.
func (k *Kubelets) clientFor(version schema.GroupVersion) (rest.Interface, error) {
	config := rest.CopyConfig(k.config(nodeUser("")))
	config.UserAgent, config.APIPath = userAgent, dynamic.LegacyAPIPathResolverFunc(version.WithKind(""))
	config.GroupVersion = &version
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return rest.RESTClientFor(config)
}

// jsonConfig returns a client configuration for objects of any kind.
func jsonConfig(h *controllers.Host) *rest.Config {
	config := rest.CopyConfig(h.ConfigOf(nodeUser("")))
	config.UserAgent, config.ContentConfig = userAgent, rest.ContentConfig{}
	return config
}

// nodeUser returns the user name of a node's kubelet.
func nodeUser(node string) string { return "system:node:" + node }

// as gives a request the credentials of a node's kubelet.
func (k *Kubelets) as(node string, request *rest.Request) *rest.Request {
	k.mu.Lock()
	defer k.mu.Unlock()
	header, ok := k.authorized[node]
	if !ok {
		header = "Bearer " + k.config(nodeUser(node)).BearerToken
		k.authorized[node] = header
	}
	return request.SetHeader("Authorization", header)
}

func nodeOf(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return nil, nil
	}
	return []string{pod.Spec.NodeName}, nil
}

func (k *Kubelets) podChanged(o metav1.Object) {
	if pod, ok := o.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
		k.addresses.keep(pod)
		k.podQueue.Add(cache.MetaObjectToName(pod).String())
		k.changes.Update(func(n *changes) { *n++ })
	}
}

func (k *Kubelets) podDeleted(o metav1.Object) {
	k.addresses.release(o.GetUID())
	k.Runtime.Remove(o.GetUID())
	k.pods.drop(cache.MetaObjectToName(o).String())
	k.changes.Update(func(n *changes) { *n++ })
}

// nodeChanged also adds the pods of the node, which may have no kubelet until now.
func (k *Kubelets) nodeChanged(o metav1.Object) {
	if o.GetAnnotations()[Managed] != managedValue {
		return
	}
	k.nodeQueue.Add(o.GetName())
	keys, _ := k.podInformer.GetIndexer().IndexKeys(byNode, o.GetName()) // the error is impossible: the index exists
	for _, key := range keys {
		k.podQueue.Add(key)
	}
}

// advancePod lets a pod run, or come to its next stage.
func (k *Kubelets) advancePod(ctx context.Context, key string) (time.Duration, error) {
	if obj, exists, err := k.podInformer.GetStore().GetByKey(key); err == nil && exists {
		if pod, ok := obj.(*corev1.Pod); ok && k.Runtime.Runs(pod) {
			return 0, k.syncPod(ctx, key)
		}
	}
	return k.pods.advance(ctx, key)
}

// hasNode returns the name of a node if this is the kubelet of the node.
func (k *Kubelets) hasNode(o metav1.Object) (string, bool) {
	return o.GetName(), o.GetAnnotations()[Managed] == managedValue
}

// hasPod returns the name of a pod's node if the kubelet of the node works.
func (k *Kubelets) hasPod(o metav1.Object) (string, bool) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return "", false
	}
	node, ok := k.node(pod.Spec.NodeName)
	return pod.Spec.NodeName, ok && !k.isLost(node)
}

// node returns a managed node.
func (k *Kubelets) node(name string) (*corev1.Node, bool) {
	obj, exists, err := k.nodes.GetStore().GetByKey(name)
	if err != nil || !exists {
		return nil, false
	}
	node, ok := obj.(*corev1.Node)
	return node, ok && node.Annotations[Managed] == managedValue
}

// isLost reports whether the kubelet of a node has stopped.
func (k *Kubelets) isLost(node *corev1.Node) bool {
	set, err := k.Stages.Of(k.runner.Life(), stages.Node, node)
	return err == nil && set.Name == stages.NodeLost
}

// forget makes the kubelets begin anew, after a restore of a snapshot.
func (k *Kubelets) forget() {
	var pods []*corev1.Pod
	for _, obj := range k.podInformer.GetStore().List() {
		if pod, ok := obj.(*corev1.Pod); ok {
			pods = append(pods, pod)
		}
	}
	k.Runtime.Keep(pods)
	k.pods.clock.release()
	k.pods.forget()
	k.nodePlayer.forget()
	k.others.forget()
	k.addresses.forget()
	for _, pod := range pods {
		k.podChanged(pod)
	}
	k.register()
	for _, name := range k.nodes.GetStore().ListKeys() {
		k.nodeQueue.Add(name)
	}
}

// register makes the kubelets register the nodes that don't exist.
func (k *Kubelets) register() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unknown = map[string]*corev1.Node{}
	for i := range k.Nodes {
		node := newNode(i)
		k.unknown[node.Name] = node
	}
	for _, name := range slices.Sorted(maps.Keys(k.unknown)) {
		k.nodeQueue.Add(name)
	}
}
