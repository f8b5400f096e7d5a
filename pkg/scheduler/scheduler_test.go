package scheduler_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
	"github.com/miniapi-dev/miniapi/pkg/scheduler"
)

// world is a scheduler over a fake server.
type world struct {
	*fake.Clientset
	forget func()
}

// newWorld starts a scheduler in a world with the objects.
func newWorld(t *testing.T, objects ...runtime.Object) *world {
	t.Helper()
	client := fake.NewSimpleClientset(objects...)
	w := &world{Clientset: client}
	client.PrependReactor("create", "pods", w.bind)
	controllertest.Start(t, client, func(runner *work.Runner, factory informers.SharedInformerFactory) (err error) {
		w.forget, err = scheduler.New(scheduler.Config{Runner: runner, Client: client.CoreV1(), Events: client.EventsV1(), Informers: factory})
		return err
	})
	return w
}

// bind sets the node of a pod that is bound, as a server does.
func (w *world) bind(action clienttesting.Action) (bool, runtime.Object, error) {
	if action.GetSubresource() != "binding" {
		return false, nil, nil
	}
	binding := action.(clienttesting.CreateAction).GetObject().(*corev1.Binding)
	pods := action.GetResource()
	obj, err := w.Tracker().Get(pods, action.GetNamespace(), binding.Name)
	if err != nil {
		return true, nil, err
	}
	pod := obj.(*corev1.Pod).DeepCopy()
	pod.Spec.NodeName = binding.Target.Name
	return true, binding, w.Tracker().Update(pods, pod, action.GetNamespace())
}

// await waits until a pod is as wanted, and returns it.
func (w *world) await(ctx context.Context, t *testing.T, name string, wanted func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	watched, err := w.CoreV1().Pods(metav1.NamespaceDefault).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	for {
		pod, err := w.CoreV1().Pods(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if wanted(pod) {
			return pod
		}
		select {
		case <-watched.ResultChan():
		case <-ctx.Done():
			t.Fatalf("pod %s isn't as wanted: node %q, conditions %v", name, pod.Spec.NodeName, pod.Status.Conditions)
		}
	}
}

// decided waits until a pod has a node or a condition, and returns both.
func (w *world) decided(ctx context.Context, t *testing.T, name string) (node string, condition *corev1.PodCondition) {
	t.Helper()
	pod := w.await(ctx, t, name, func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" || len(pod.Status.Conditions) > 0 })
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			condition = &c
		}
	}
	return pod.Spec.NodeName, condition
}

// newNode returns a node with 4 CPUs, 8 GiB and 10 pods.
func newNode(name string, changes ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
			corev1.ResourceEphemeralStorage: resource.MustParse("10Gi"), corev1.ResourcePods: resource.MustParse("10"),
		}},
	}
	for _, change := range changes {
		change(node)
	}
	return node
}

// newPod returns a pod with one container, which waits for a node.
func newPod(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID(name)},
		Spec:       corev1.PodSpec{SchedulerName: scheduler.Name, Containers: []corev1.Container{{Name: "c"}}},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func requests(list map[corev1.ResourceName]string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		amounts := corev1.ResourceList{}
		for name, amount := range list {
			amounts[name] = resource.MustParse(amount)
		}
		pod.Spec.Containers[0].Resources.Requests = amounts
	}
}

func cpu(amount string) func(*corev1.Pod) {
	return requests(map[corev1.ResourceName]string{corev1.ResourceCPU: amount})
}

func on(node string) func(*corev1.Pod) { return func(pod *corev1.Pod) { pod.Spec.NodeName = node } }

func priority(value int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Priority = &value }
}

func labelled(labels map[string]string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels = labels }
}

func tainted(key string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(node *corev1.Node) {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: key, Effect: effect})
	}
}

func inZone(zone string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Labels[corev1.LabelTopologyZone] = zone }
}

func tolerating(key string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
}

// selecting returns a selector of pods by the label app.
func selecting(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func app(name string) func(*corev1.Pod) { return labelled(map[string]string{"app": name}) }
