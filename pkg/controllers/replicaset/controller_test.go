package replicaset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

var labelsOfApp = map[string]string{"app": "web"}

func replicaSet(replicas int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web-uid", Generation: 2},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labelsOfApp},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labelsOfApp}},
		},
	}
}

// pod returns a running pod of the set, with some changes.
func pod(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name), Labels: labelsOfApp,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(replicaSet(0), appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
		},
		Spec:   corev1.PodSpec{NodeName: "node"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func orphan(pod *corev1.Pod)   { pod.OwnerReferences = nil }
func relabel(pod *corev1.Pod)  { pod.Labels = map[string]string{"app": "debug"} }
func fail(pod *corev1.Pod)     { pod.Status.Phase = corev1.PodFailed }
func deleting(pod *corev1.Pod) { pod.DeletionTimestamp = new(metav1.Now()) }

func readySince(since time.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}}
	}
}

// newController returns a controller that knows a set and pods, and the client that it writes with.
func newController(t *testing.T, set *appsv1.ReplicaSet, pods []*corev1.Pod) (*controller, *fake.Clientset) {
	t.Helper()
	setInformer, err := controllertest.Informer(set)
	if err != nil {
		t.Fatal(err)
	}
	podInformer, err := controllertest.Informer(pods...)
	if err != nil {
		t.Fatal(err)
	}
	objects := []runtime.Object{set}
	for _, pod := range pods {
		objects = append(objects, pod)
	}
	client := fake.NewSimpleClientset(objects...)
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return true, action.(clienttesting.CreateAction).GetObject(), nil // the fake doesn't generate names
	})
	runner := work.NewRunner(t.Context())
	t.Cleanup(runner.Close)
	config := Config{
		Runner: runner, API: ReplicaSets(client.AppsV1()), Sets: setInformer, PodInformer: podInformer,
		Pods: owned.Pods{Client: client.CoreV1(), Events: eventrecorder.NewRecorder(t.Context(), fake.NewClientset().CoreV1(), "test")},
	}
	if err := New(config); err != nil {
		t.Fatal(err)
	}
	return &controller{config}, client
}

func TestSync(t *testing.T) {
	t.Parallel()
	status := "update replicasets/status default/web"
	for _, test := range []struct {
		name, reason string
		replicas     int32
		change       func(*appsv1.ReplicaSet)
		pods         []*corev1.Pod
		want         []string
	}{
		{"missing pods", "the set has one of three pods", 3, nil, []*corev1.Pod{pod("a")},
			[]string{"create pods default", "create pods default", status}},
		{"surplus pods", "a pod that isn't ready is deleted first", 1, nil, []*corev1.Pod{pod("a", readySince(time.Now())), pod("b")},
			[]string{"delete pods default/b", status}},
		{"ended pod", "a failed pod is no replica", 1, nil, []*corev1.Pod{pod("a", fail)}, []string{"create pods default", status}},
		{"terminating pod", "a pod that is being deleted is replaced at once", 1, nil, []*corev1.Pod{pod("a", deleting)},
			[]string{"create pods default", status}},
		{"orphan", "a pod without a controller is adopted", 1, nil, []*corev1.Pod{pod("a", orphan)},
			[]string{"patch pods default/a", status}},
		{"released", "a pod whose labels don't match any more is released, and replaced", 1, nil, []*corev1.Pod{pod("a", relabel)},
			[]string{"patch pods default/a", "create pods default", status}},
		{"being deleted", "a set that is being deleted neither adopts nor creates pods", 2,
			func(set *appsv1.ReplicaSet) { set.DeletionTimestamp = new(metav1.Now()) }, []*corev1.Pod{pod("a", orphan)}, []string{status}},
		{"settled", "nothing has changed", 1, func(set *appsv1.ReplicaSet) {
			set.Status = appsv1.ReplicaSetStatus{Replicas: 1, FullyLabeledReplicas: 1, ObservedGeneration: 2, TerminatingReplicas: new(int32(0))}
		}, []*corev1.Pod{pod("a")}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			set := replicaSet(test.replicas)
			if test.change != nil {
				test.change(set)
			}
			c, client := newController(t, set, test.pods)
			if _, err := c.sync(t.Context(), "default/web"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, controllertest.Writes(client.Actions())); diff != "" {
				t.Errorf("%s, but the writes differ (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// A set doesn't adopt pods if the server says that it is being deleted, although the informer doesn't know yet.
func TestSyncChecksBeforeAdoption(t *testing.T) {
	t.Parallel()
	c, client := newController(t, replicaSet(1), []*corev1.Pod{pod("a", orphan)})
	gone := replicaSet(1)
	gone.DeletionTimestamp = new(metav1.Now())
	client.PrependReactor("get", "replicasets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, gone, nil })
	if _, err := c.sync(t.Context(), "default/web"); err == nil {
		t.Error("want an error, so that the set is handled again")
	}
	if writes := controllertest.Writes(client.Actions()); len(writes) > 0 {
		t.Errorf("want no write, got %s", writes)
	}
}

// Creations stop after a batch with an error. The error becomes a condition, and the set is handled again.
func TestSyncWithFailingCreations(t *testing.T) {
	t.Parallel()
	c, client := newController(t, replicaSet(10), nil)
	client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no room") })
	if _, err := c.sync(t.Context(), "default/web"); err == nil || err.Error() != "no room" {
		t.Errorf("want the error of the creation, got %v", err)
	}
	if diff := cmp.Diff([]string{"create pods default", "update replicasets/status default/web"}, controllertest.Writes(client.Actions())); diff != "" {
		t.Errorf("the writes differ (-want +got):\n%s", diff)
	}
	written, err := client.AppsV1().ReplicaSets("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, 0, 1)
	for _, c := range written.Status.Conditions {
		got = append(got, fmt.Sprint(c.Type, " ", c.Status, " ", c.Reason, " ", c.Message))
	}
	if want := []string{"ReplicaFailure True FailedCreate no room"}; !slices.Equal(got, want) {
		t.Errorf("want the conditions %s, got %s", want, got)
	}
}

// A set is handled again when its next pod becomes available.
func TestSyncReturnsForAvailability(t *testing.T) {
	t.Parallel()
	set := replicaSet(2)
	set.Spec.MinReadySeconds = 60
	c, client := newController(t, set, []*corev1.Pod{pod("old", readySince(time.Now().Add(-time.Hour))), pod("new", readySince(time.Now()))})
	again, err := c.sync(t.Context(), "default/web")
	if err != nil || again <= 0 || again > time.Minute {
		t.Errorf("want another look within a minute, got one after %s and the error %v", again, err)
	}
	written, err := client.AppsV1().ReplicaSets("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || written.Status.ReadyReplicas != 2 || written.Status.AvailableReplicas != 1 {
		t.Errorf("want 2 ready pods and an available one, got %v, %v", written, err)
	}
}

// A ReplicationController is handled as a ReplicaSet is. Its conversion keeps all fields of both.
func TestReplicationController(t *testing.T) {
	t.Parallel()
	rc := &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web-uid"},
		Spec: corev1.ReplicationControllerSpec{
			Replicas: new(int32(1)), MinReadySeconds: 3, Selector: labelsOfApp,
			Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labelsOfApp}},
		},
		Status: corev1.ReplicationControllerStatus{
			Replicas: 1, FullyLabeledReplicas: 2, ReadyReplicas: 3, AvailableReplicas: 4, ObservedGeneration: 5,
			Conditions: []corev1.ReplicationControllerCondition{{Type: corev1.ReplicationControllerReplicaFailure, Status: corev1.ConditionTrue, Reason: "r", Message: "m"}},
		},
	}
	client := fake.NewSimpleClientset(rc)
	api := ReplicationControllers(client.CoreV1())
	set := api.view(rc)
	if err := api.updateStatus(context.Background(), set, set.Status); err != nil {
		t.Fatal(err)
	}
	got, err := client.CoreV1().ReplicationControllers("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rc, got); diff != "" {
		t.Errorf("after a conversion and back, the object differs (-want +got):\n%s", diff)
	}
	if set.Kind != "ReplicationController" || set.APIVersion != "v1" {
		t.Errorf("want Events about a ReplicationController of v1, got %s of %s", set.Kind, set.APIVersion)
	}
}
