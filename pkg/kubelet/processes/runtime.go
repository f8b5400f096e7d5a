package processes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/podstatus"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/environment"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/group"
)

// Options configure a Runtime.
type Options struct {
	// Init is the command line of this program that calls group.Init. With it, volumes lie at their mount paths where the
	// system allows this.
	Init []string
}

// Runtime runs the containers of pods as processes. It implements kubelet.Runtime.
type Runtime struct {
	Options
	host       *controllers.Host
	events     *eventrecorder.Recorder
	changed    func(pod string)
	configMaps corelisters.ConfigMapLister
	secrets    corelisters.SecretLister
	nodes      corelisters.NodeLister
	services   corelisters.ServiceLister
	core       func(node string) (corev1client.CoreV1Interface, error)

	mu     sync.Mutex
	groups *group.Groups // nil before the first pod
	closed bool
	folder string
	pods   map[types.UID]*pod
}

// New returns the Runtime of the kubelets of a server.
func New(o Options) *Runtime { return &Runtime{Options: o, pods: map[types.UID]*pod{}} }

// Start implements kubelet.Runtime.
func (r *Runtime) Start(h *controllers.Host, events *eventrecorder.Recorder, core func(node string) (corev1client.CoreV1Interface, error), changed func(pod string)) error {
	r.host, r.events, r.core, r.changed = h, events, core, changed
	informers := h.Informers.Core().V1()
	r.configMaps, r.secrets, r.nodes = informers.ConfigMaps().Lister(), informers.Secrets().Lister(), informers.Nodes().Lister()
	r.services = informers.Services().Lister()
	return work.Enqueue(
		work.Events{Informer: informers.ConfigMaps().Informer(), Changed: r.sourceChanged, Deleted: r.sourceChanged},
		work.Events{Informer: informers.Secrets().Informer(), Changed: r.sourceChanged, Deleted: r.sourceChanged},
	)
}

// Runs implements kubelet.Runtime.
func (r *Runtime) Runs(pod *corev1.Pod) bool { return environment.Runs(pod) }

// sourceChanged wakes the pods that may use a ConfigMap or a Secret.
func (r *Runtime) sourceChanged(o metav1.Object) {
	for _, p := range r.all() {
		if p.name.Namespace == o.GetNamespace() {
			p.wake()
		}
	}
}

func (r *Runtime) all() []*pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*pod
	for _, p := range r.pods {
		all = append(all, p)
	}
	return all
}

func (r *Runtime) pod(uid types.UID) (*pod, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.pods[uid]
	return p, ok
}

// Sync implements kubelet.Runtime.
func (r *Runtime) Sync(spec *corev1.Pod, addresses podstatus.Addresses) (status corev1.PodStatus, ended bool, err error) {
	p, ok := r.pod(spec.UID)
	if !ok {
		if hasEnded(spec) {
			return spec.Status, true, nil
		}
		if p, err = r.add(spec, addresses); err != nil {
			return spec.Status, false, err
		}
	}
	p.update(spec, addresses)
	status, ended = p.status()
	return status, ended, nil
}

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// add begins to run a pod.
func (r *Runtime) add(spec *corev1.Pod, addresses podstatus.Addresses) (*pod, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.prepare(); err != nil {
		return nil, err
	}
	p := newPod(r, spec, addresses, filepath.Join(r.folder, string(spec.UID)))
	r.pods[spec.UID] = p
	go p.run() // close waits for it
	return p, nil
}

// prepare makes the folder of the pods, which only this user can read.
func (r *Runtime) prepare() (err error) {
	life := r.host.Runner.Life()
	if r.closed || life.Err() != nil {
		return context.Canceled
	}
	if r.groups != nil {
		return nil
	}
	if r.folder, err = os.MkdirTemp("", "miniapi-pods-"); err != nil {
		return fmt.Errorf("the folder of the pods that run: %w", err)
	}
	r.groups = group.New(r.folder, r.Init)
	r.host.Runner.Go(func() {
		<-life.Done()
		r.close()
	})
	return nil
}

// close waits until the processes have ended, and removes their files.
func (r *Runtime) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	for _, p := range r.all() {
		<-p.done
	}
	_ = r.groups.Close() // the folder is a temporary one
}

// Remove implements kubelet.Runtime.
func (r *Runtime) Remove(uid types.UID) {
	if p, ok := r.pod(uid); ok {
		p.terminate(forcedGrace)
		go func() {
			<-p.done
			r.forget(p)
		}()
	}
}

// forget removes the files of a pod without processes.
func (r *Runtime) forget(p *pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pods, p.uid)
	_ = os.RemoveAll(p.folder) // the folder is a temporary one
}

// Keep implements kubelet.Runtime.
func (r *Runtime) Keep(pods []*corev1.Pod) {
	objects := map[types.UID]*corev1.Pod{}
	for _, object := range pods {
		objects[object.UID] = object
	}
	var ending []*pod
	for _, p := range r.all() {
		if object, ok := objects[p.uid]; !ok || !p.runsAs(object) {
			p.kill()
			ending = append(ending, p)
		}
	}
	for _, p := range ending {
		<-p.done
		r.forget(p)
	}
}

// runsAs reports whether the pod runs as an object says, which may be an earlier or a later state of its own.
func (p *pod) runsAs(object *corev1.Pod) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	hasIP := func(ip string, has corev1.PodIP) bool { return ip == has.IP }
	return !p.final && object.DeletionTimestamp == nil && !hasEnded(object) && slices.EqualFunc(p.addresses.Pod, object.Status.PodIPs, hasIP)
}

// Route implements kubelet.Runtime.
func (r *Runtime) Route(ip string) (string, bool) {
	for _, p := range r.all() {
		if p.hasAddress(ip) {
			return loopback(ip, p.hostNetwork), true
		}
	}
	return "", false
}

// ConfigMap implements environment.Objects.
func (p *pod) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	found, err := p.runtime.configMaps.ConfigMaps(namespace).Get(name)
	if !apierrors.IsNotFound(err) {
		return found, err
	}
	core, err := p.runtime.core(p.node)
	if err != nil {
		return nil, err
	}
	return core.ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Secret implements environment.Objects.
func (p *pod) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	found, err := p.runtime.secrets.Secrets(namespace).Get(name)
	if !apierrors.IsNotFound(err) {
		return found, err
	}
	core, err := p.runtime.core(p.node)
	if err != nil {
		return nil, err
	}
	return core.Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Token implements podfiles.Cluster.
func (p *pod) Token(ctx context.Context, pod *corev1.Pod, spec authenticationv1.TokenRequestSpec) (*authenticationv1.TokenRequestStatus, error) {
	core, err := p.runtime.core(p.node)
	if err != nil {
		return nil, err
	}
	spec.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID}
	if spec.Audiences == nil {
		spec.Audiences = []string{}
	}
	issued, err := core.ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, &authenticationv1.TokenRequest{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return &issued.Status, nil
}

// environment returns what the containers of the pod can know about it.
func (p *pod) environment() environment.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := environment.Pod{Pod: p.spec, HostIPs: loopbacks(p.addresses.Host, true), IPs: loopbacks(p.addresses.Pod, p.hostNetwork)}
	if node, err := p.runtime.nodes.Get(p.node); err == nil {
		own.Allocatable = node.Status.Allocatable
	}
	return own
}

// hasAddress reports whether an address is one of the pod, or of its node if the pod uses the node's network.
func (p *pod) hasAddress(ip string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.addresses.Pod, ip) && !p.hasStopped()
}
