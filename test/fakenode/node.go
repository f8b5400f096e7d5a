// Package fakenode replaces the parts of a cluster that run a Deployment: the controllers that create its pod and the
// endpoints of its Services, the scheduler, and the kubelet. A pod is a process on this machine. Each pod has its own
// loopback address.
//
// The package supports only the features that the conformance suite needs for its Deployment in a cluster (see
// pkg/conformance/relay): one replica, one container, environment variables from fields and Secrets, and a readiness
// probe by HTTPS. Don't use it for other Deployments.
package fakenode

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Name is the name of the node.
const Name = "loopback"

// probeInterval is the time between two probes of a container.
const probeInterval = 20 * time.Millisecond

// Options configure a Node. Client and Command are required.
type Options struct {
	Client kubernetes.Interface
	// Selector is a label. The node runs only Deployments with this label.
	Selector string
	// Command returns the process of a container with these arguments. The node adds the container's environment
	// variables.
	Command func(args []string) *exec.Cmd
	// Publish maps the loopback address of a pod's process to the address of the pod in the API. By default, the pod
	// has the loopback address.
	Publish func(loopback string) string
	// PullError is the error of each pull of an image. If it is empty, pulls succeed.
	PullError string
}

// Node runs Deployments until its test ends.
type Node struct {
	options Options
	t       testing.TB
	ctx     context.Context

	mu        sync.Mutex
	processes map[string]*process
	routines  sync.WaitGroup
}

type process struct {
	cmd    *exec.Cmd
	output bytes.Buffer
	ended  chan struct{}
}

// Start starts a node. The node runs the Deployments that Options.Selector selects.
func Start(t testing.TB, o Options) *Node {
	t.Helper()
	if o.Publish == nil {
		o.Publish = func(loopback string) string { return loopback }
	}
	ctx, stop := context.WithCancel(context.Background())
	n := &Node{options: o, t: t, ctx: ctx, processes: map[string]*process{}}
	n.register()
	factory := informers.NewSharedInformerFactoryWithOptions(o.Client, 0, informers.WithTweakListOptions(func(list *metav1.ListOptions) { list.LabelSelector = o.Selector }))
	deployments, pods := factory.Apps().V1().Deployments().Informer(), factory.Core().V1().Pods().Informer()
	_, err := deployments.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
		n.routines.Go(func() {
			if err := n.run(object.(*appsv1.Deployment).DeepCopy()); err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
				t.Errorf("node %s: %v", Name, err)
			}
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			n.kill(key)
		}
	}}); err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	t.Cleanup(func() {
		stop()
		factory.Shutdown()
		n.routines.Wait()
		for _, key := range n.Running() {
			n.kill(key)
		}
	})
	return n
}

// Running returns the pods whose processes the node has started and not ended, as NAMESPACE/NAME.
func (n *Node) Running() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var keys []string
	for key := range n.processes {
		keys = append(keys, key)
	}
	return keys
}

func (n *Node) kill(key string) {
	n.mu.Lock()
	p := n.processes[key]
	delete(n.processes, key)
	n.mu.Unlock()
	if p != nil {
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// register creates the Node object. Controllers delete pods whose Node doesn't exist.
func (n *Node) register() {
	n.t.Helper()
	nodes := n.options.Client.CoreV1().Nodes()
	if _, err := nodes.Create(n.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: Name}}, metav1.CreateOptions{}); err != nil {
		n.t.Fatalf("node %s: %v", Name, err)
	}
	n.t.Cleanup(func() {
		if err := nodes.Delete(context.Background(), Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			n.t.Errorf("node %s: %v", Name, err)
		}
	})
}

// run creates the pod of a Deployment. It reports the pod ready when the pod's process is ready.
func (n *Node) run(deployment *appsv1.Deployment) error {
	pods := n.options.Client.CoreV1().Pods(deployment.Namespace)
	template := deployment.Spec.Template
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name, pod.Spec.NodeName = deployment.Name+"-0", Name
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	pod, err := pods.Create(n.ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	container := &pod.Spec.Containers[0]
	if n.options.PullError != "" {
		pod.Status = corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			Name: container.Name, Image: container.Image,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: n.options.PullError}},
		}}}
		_, err := pods.UpdateStatus(n.ctx, pod, metav1.UpdateOptions{})
		return err
	}
	address, err := freeAddress(container.Ports)
	if err != nil {
		return err
	}
	p, err := n.start(pod, address)
	if err != nil {
		return err
	}
	if err := p.waitReady(n.ctx, container.ReadinessProbe.HTTPGet, address); err != nil {
		return err
	}
	published := n.options.Publish(address)
	if err := n.publish(deployment.Namespace, pod, published); err != nil {
		return err
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: published, PodIPs: []corev1.PodIP{{IP: published}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
	if _, err := pods.UpdateStatus(n.ctx, pod, metav1.UpdateOptions{}); err != nil {
		return err
	}
	deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	_, err = n.options.Client.AppsV1().Deployments(deployment.Namespace).UpdateStatus(n.ctx, deployment, metav1.UpdateOptions{})
	return err
}

// start starts the process of a pod at an address.
func (n *Node) start(pod *corev1.Pod, address string) (*process, error) {
	container := &pod.Spec.Containers[0]
	variables := map[string]string{}
	for _, v := range container.Env {
		switch {
		case v.ValueFrom == nil:
			variables[v.Name] = v.Value
		case v.ValueFrom.FieldRef != nil && v.ValueFrom.FieldRef.FieldPath == "status.podIP":
			variables[v.Name] = address
		case v.ValueFrom.SecretKeyRef != nil:
			secret, err := n.options.Client.CoreV1().Secrets(pod.Namespace).Get(n.ctx, v.ValueFrom.SecretKeyRef.Name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			variables[v.Name] = string(secret.Data[v.ValueFrom.SecretKeyRef.Key])
		default:
			return nil, fmt.Errorf("variable %s of pod %s: must have a value, the field status.podIP or a Secret as its source", v.Name, pod.Name)
		}
	}
	var args []string
	for _, arg := range container.Args {
		for name, value := range variables {
			arg = strings.ReplaceAll(arg, "$("+name+")", value)
		}
		args = append(args, arg)
	}
	p := &process{cmd: n.options.Command(args), ended: make(chan struct{})}
	for name, value := range variables {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // the method kill ends the process, so Wait returns an error
		close(p.ended)
	}()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.processes[pod.Namespace+"/"+pod.Name] = p
	return p, nil
}

// waitReady waits until a probe succeeds. It returns an error if the process ends before.
func (p *process) waitReady(ctx context.Context, probe *corev1.HTTPGetAction, address string) error {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true} //nolint:gosec // a kubelet verifies no certificates in probes
	url := strings.ToLower(string(probe.Scheme)) + "://" + net.JoinHostPort(address, probe.Port.String()) + probe.Path
	return wait.PollUntilContextCancel(ctx, probeInterval, true, func(ctx context.Context) (bool, error) {
		select {
		case <-p.ended:
			return false, fmt.Errorf("the process has ended before its probe succeeded, with the output: %s", p.output.String())
		default:
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false, err
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			return false, nil //nolint:nilerr // the next probe may succeed
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
}

// publish creates the endpoints of each Service in the namespace.
func (n *Node) publish(namespace string, pod *corev1.Pod, address string) error {
	services, err := n.options.Client.CoreV1().Services(namespace).List(n.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range services.Items {
		service := &services.Items[i]
		target := &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: pod.Name, UID: pod.UID}
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Name: service.Name, Labels: map[string]string{discoveryv1.LabelServiceName: service.Name}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints: []discoveryv1.Endpoint{{
				Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}, TargetRef: target,
			}},
		}
		subset := corev1.EndpointSubset{Addresses: []corev1.EndpointAddress{{IP: address, TargetRef: target}}}
		for _, port := range service.Spec.Ports {
			slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: new(port.Name), Port: new(port.TargetPort.IntVal)})
			subset.Ports = append(subset.Ports, corev1.EndpointPort{Name: port.Name, Port: port.TargetPort.IntVal})
		}
		// Endpoints are deprecated, but the service proxy of kube-apiserver reads them.
		endpoints := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: service.Name}, Subsets: []corev1.EndpointSubset{subset}}
		if _, err := n.options.Client.CoreV1().Endpoints(namespace).Create(n.ctx, endpoints, metav1.CreateOptions{}); err != nil {
			return err
		}
		if _, err := n.options.Client.DiscoveryV1().EndpointSlices(namespace).Create(n.ctx, slice, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// freeAddress returns a loopback address at which all ports of the container are free.
func freeAddress(ports []corev1.ContainerPort) (string, error) {
	var errs []error
	for range 20 {
		address := fmt.Sprintf("127.66.%d.%d", rand.IntN(256), 1+rand.IntN(254))
		if err := free(address, ports); err != nil {
			errs = append(errs, err)
			continue
		}
		return address, nil
	}
	return "", errors.Join(errs...)
}

func free(address string, ports []corev1.ContainerPort) error {
	for _, port := range ports {
		l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(int(port.ContainerPort))))
		if err != nil {
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}
