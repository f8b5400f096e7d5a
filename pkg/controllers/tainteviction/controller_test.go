package tainteviction

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
)

func TestEviction(t *testing.T) {
	t.Parallel()
	evicted := []string{"patch pods/status ns/p", "delete pods ns/p"}
	tolerates := func(seconds *int64) []corev1.Toleration {
		return []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists, TolerationSeconds: seconds}}
	}
	for _, test := range []struct {
		name, reason string
		taints       []corev1.Taint
		tolerations  []corev1.Toleration
		after        time.Duration // the time after the first look
		again        time.Duration // the result of the last look
		want         []string
	}{
		{"no taint", "nothing evicts the pod", nil, nil, 0, 0, nil},
		{"no toleration", "the pod goes at once", []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}, nil, 0, 0, evicted},
		{"NoSchedule", "the effect is about new pods", []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}, nil, 0, 0, nil},
		{"toleration for ever", "the pod stays", []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}, tolerates(nil), time.Hour, 0, nil},
		{"toleration for a time", "the time isn't over", []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}, tolerates(new(int64(300))), 100 * time.Second, 200 * time.Second, nil},
		{"toleration over", "the time is over", []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}, tolerates(new(int64(300))), 300 * time.Second, 0, evicted},
		{"another taint", "the pod tolerates only one", []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}, {Key: "l", Effect: corev1.TaintEffectNoExecute}},
			tolerates(nil), 0, 0, evicted},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p"}, Spec: corev1.PodSpec{NodeName: "n", Tolerations: test.tolerations}}
				e, client := newEvictor(t, pod, test.taints)
				again, err := e.sync(t.Context(), "ns/p")
				if err == nil && test.after > 0 {
					time.Sleep(test.after) //nolint:forbidigo // the time is that of the bubble
					again, err = e.sync(t.Context(), "ns/p")
				}
				if err != nil || again != test.again {
					t.Errorf("%s: want another look after %s, got %s, %v", test.reason, test.again, again, err)
				}
				if diff := cmp.Diff(test.want, writesOfPods(client)); diff != "" {
					t.Errorf("%s: the writes differ (-want +got):\n%s", test.reason, diff)
				}
			})
		})
	}
}

func newEvictor(t *testing.T, pod *corev1.Pod, taints []corev1.Taint) (*evictor, *fake.Clientset) {
	t.Helper()
	client := fake.NewSimpleClientset(pod)
	nodes, err := controllertest.Informer(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{Taints: taints}})
	if err != nil {
		t.Fatal(err)
	}
	pods, err := controllertest.Informer(pod)
	if err != nil {
		t.Fatal(err)
	}
	return &evictor{
		Config: Config{Client: client.CoreV1(), Nodes: nodes, Pods: pods, Events: eventrecorder.NewRecorder(t.Context(), client.CoreV1(), Component)},
		since:  map[string]time.Time{},
	}, client
}

// writesOfPods returns the writes of pods. Those of Events come later.
func writesOfPods(client *fake.Clientset) []string {
	return controllertest.Writes(slices.DeleteFunc(client.Actions(), func(a clienttesting.Action) bool { return a.GetResource().Resource != "pods" }))
}

// The Event of an eviction names the pod.
func TestEvent(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p"}, Spec: corev1.PodSpec{NodeName: "n"}}
	e, client := newEvictor(t, pod, []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}})
	events, err := client.CoreV1().Events("ns").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Stop)
	if _, err := e.sync(t.Context(), "ns/p"); err != nil {
		t.Fatal(err)
	}
	event := (<-events.ResultChan()).Object.(*corev1.Event)
	want := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "ns", Name: "p"}
	if event.Reason != "TaintManagerEviction" || event.Message != "Marking for deletion Pod ns/p" || event.InvolvedObject != want {
		t.Errorf("want an Event about %v, got %s, %s, about %v", want, event.Reason, event.Message, event.InvolvedObject)
	}
}

// When the taint is gone before the pod's toleration is over, a later taint is tolerated anew.
func TestCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p"}, Spec: corev1.PodSpec{NodeName: "n", Tolerations: []corev1.Toleration{
			{Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(300))},
		}}}
		tainted := []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}
		e, _ := newEvictor(t, pod, tainted)
		for _, taints := range [][]corev1.Taint{tainted, nil, tainted} {
			if err := e.Nodes.GetStore().Update(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{Taints: taints}}); err != nil {
				t.Fatal(err)
			}
			again, err := e.sync(t.Context(), "ns/p")
			if want := time.Duration(len(taints)) * 300 * time.Second; err != nil || again != want {
				t.Errorf("want another look after %s, got %s, %v", want, again, err)
			}
			time.Sleep(200 * time.Second) //nolint:forbidigo // the time is that of the bubble
		}
	})
}
