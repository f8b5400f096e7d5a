package kubelet

import (
	"context"
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"

	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/endpoint"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/podstatus"
)

// Runtime runs containers. The pods with such containers go through no stages.
type Runtime interface {
	endpoint.Runtime
	// Start is called before the work begins. core returns a client with the credentials of a node's kubelet. The Runtime
	// calls changed with NAMESPACE/NAME when the status of a pod has changed.
	Start(h *controllers.Host, events *eventrecorder.Recorder, core func(node string) (corev1client.CoreV1Interface, error), changed func(pod string)) error
	// Runs reports whether a container of a pod runs.
	Runs(pod *corev1.Pod) bool
	// Sync runs a pod, or ends it if it is deleted or has ended. It returns the status of the pod, and whether nothing of
	// the pod runs any more.
	Sync(pod *corev1.Pod, addresses podstatus.Addresses) (status corev1.PodStatus, ended bool, err error)
	// Remove ends a pod that doesn't exist any more.
	Remove(pod types.UID)
	// Keep ends all pods but those that run as their objects say, and returns when nothing of the others runs.
	Keep(pods []*corev1.Pod)
	// Route returns the IP address of this machine at which a pod with an IP address listens, or false if no such pod
	// runs.
	Route(ip string) (string, bool)
}

// pretending is the Runtime of kubelets whose pods all pretend to run.
type pretending struct{}

var _ Runtime = pretending{}

// Start implements Runtime.
func (pretending) Start(*controllers.Host, *eventrecorder.Recorder, func(string) (corev1client.CoreV1Interface, error), func(string)) error {
	return nil
}

// Runs implements Runtime.
func (pretending) Runs(*corev1.Pod) bool { return false }

// Sync implements Runtime.
func (pretending) Sync(pod *corev1.Pod, _ podstatus.Addresses) (corev1.PodStatus, bool, error) {
	return pod.Status, true, nil
}

// Remove implements Runtime.
func (pretending) Remove(types.UID) {}

// Keep implements Runtime.
func (pretending) Keep([]*corev1.Pod) {}

// Route implements Runtime.
func (pretending) Route(string) (string, bool) { return "", false }

// Process implements endpoint.Runtime.
func (pretending) Process(types.UID, string) (endpoint.Process, bool) { return nil, false }

// Dial implements endpoint.Runtime.
func (pretending) Dial(context.Context, types.UID, int32) (net.Conn, bool, error) {
	return nil, false, nil
}

// coreOf returns a client with the credentials of a node's kubelet.
func (k *Kubelets) coreOf(node string) (corev1client.CoreV1Interface, error) {
	config := rest.CopyConfig(k.config(nodeUser(node)))
	config.UserAgent = userAgent
	return corev1client.NewForConfig(config)
}

// syncPod brings a pod to its next status.
func (k *Kubelets) syncPod(ctx context.Context, key string) error {
	obj, exists, err := k.podInformer.GetStore().GetByKey(key)
	pod, ok := obj.(*corev1.Pod)
	if err != nil || !exists || !ok {
		return err
	}
	node, ok := k.hasPod(pod)
	if !ok {
		return nil
	}
	addresses, err := k.addressesOf(pod)
	if err != nil {
		return err
	}
	status, ended, err := k.Runtime.Sync(pod, addresses)
	if err != nil {
		return fmt.Errorf("pod %s: %w", key, err)
	}
	patch, err := statusPatch(corev1.Pod{Status: pod.Status}, corev1.Pod{Status: status})
	if err != nil {
		return err
	}
	_, err = k.pods.patch(ctx, node, pod, &lifecycle.Patch{
		Type: types.StrategicMergePatchType, Data: []byte(`{"status":` + patch + `}`), Subresource: "status",
	})
	if err == nil && ended && pod.DeletionTimestamp != nil {
		err = k.remove(ctx, node, pod)
	}
	if err != nil && !isStale(err) {
		return err
	}
	return nil
}

// remove deletes a pod without a grace period, unless another one has its name.
func (k *Kubelets) remove(ctx context.Context, node string, pod *corev1.Pod) error {
	return k.pods.request(node, k.core.Delete(), pod).
		Body(&metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID}}).Do(ctx).Error()
}
