package daemonset

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
	"github.com/miniapi-dev/miniapi/pkg/controllers/revisions"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

var labelsOfApp = map[string]string{"app": "agent"}

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labelsOfApp},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}},
	}
}

// newSet returns a DaemonSet of the image "new".
func newSet(changes ...func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent", UID: "uid", Generation: 2},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labelsOfApp}, Template: template("new"), RevisionHistoryLimit: new(int32(1)),
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &appsv1.RollingUpdateDaemonSet{
				MaxUnavailable: new(intstr.FromInt32(1)), MaxSurge: new(intstr.FromInt32(0)),
			}},
		},
	}
	for _, change := range changes {
		change(set)
	}
	return set
}

func surge(set *appsv1.DaemonSet) {
	set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: new(intstr.FromInt32(1))}
}

func onDelete(set *appsv1.DaemonSet) {
	set.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
}

// newRevision returns the revision of an image, whose name and hash are the image.
func newRevision(t *testing.T, set *appsv1.DaemonSet, image string, number int64) *appsv1.ControllerRevision {
	t.Helper()
	of := template(image)
	data, err := revisions.Data(&of)
	if err != nil {
		t.Fatal(err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: image, Labels: map[string]string{"app": "agent", hashLabel: image},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, kind)},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: number,
	}
}

// daemonPod returns a pod of a node that is ready and has a hash, with some changes. Its name is the node and the hash.
func daemonPod(node, hash string, changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: node + "-" + hash, UID: types.UID(node + hash), Labels: map[string]string{"app": "agent", hashLabel: hash},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(newSet(), kind)},
		},
		Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour)),
		}}},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func notReady(pod *corev1.Pod) { pod.Status.Conditions = nil }
func deleting(pod *corev1.Pod) { pod.DeletionTimestamp = new(metav1.Now()) }
func failed(pod *corev1.Pod)   { pod.Status.Phase = corev1.PodFailed }

func unbound(pod *corev1.Pod) {
	pod.Spec.Affinity = onlyOn(nil, pod.Spec.NodeName)
	pod.Spec.NodeName = ""
}

func node(name string, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}, Spec: corev1.NodeSpec{Taints: taints}}
}

func taint(effect corev1.TaintEffect) corev1.Taint {
	return corev1.Taint{Key: "dedicated", Effect: effect}
}

// newFake returns a controller that knows the objects, and the client that it writes with.
func newFake(t *testing.T, set *appsv1.DaemonSet, nodes []*corev1.Node, history []*appsv1.ControllerRevision, pods []*corev1.Pod) (*controller, *fake.Clientset) {
	t.Helper()
	objects := []runtime.Object{set}
	for _, revision := range history {
		objects = append(objects, revision)
	}
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
		Runner: runner, Client: client.AppsV1(),
		Pods: owned.Pods{Client: client.CoreV1(), Events: eventrecorder.NewRecorder(t.Context(), fake.NewClientset().CoreV1(), "test")},
	}
	var errs [4]error
	config.Sets, errs[0] = controllertest.Informer(set)
	config.Nodes, errs[1] = controllertest.Informer(nodes...)
	config.Revisions, errs[2] = controllertest.Informer(history...)
	config.PodInformer, errs[3] = controllertest.Informer(pods...)
	for _, err := range append(errs[:], New(config)) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return newController(config), client
}

// changesOf returns the nodes for which a client has created pods, and the names of the deleted pods.
func changesOf(client *fake.Clientset) (changes []string) {
	for _, action := range client.Actions() {
		switch action := action.(type) {
		case clienttesting.CreateAction:
			if pod, ok := action.GetObject().(*corev1.Pod); ok && action.GetVerb() == "create" {
				changes = append(changes, "create on "+targetOf(pod))
			}
		case clienttesting.DeleteAction:
			if action.GetResource().Resource == "pods" {
				changes = append(changes, "delete "+action.GetName())
			}
		}
	}
	slices.Sort(changes) // requests at the same time have no order
	return changes
}

func TestSync(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		change       func(*appsv1.DaemonSet)
		nodes        []*corev1.Node
		pods         []*corev1.Pod
		want         []string
	}{
		{"each node", "a node has no pod", nil, []*corev1.Node{node("a"), node("b")}, []*corev1.Pod{daemonPod("a", "new")}, []string{"create on b"}},
		{"waits for the scheduler", "the pod says for which node it is", nil, []*corev1.Node{node("a")}, []*corev1.Pod{daemonPod("a", "new", unbound)}, nil},
		{"selector", "the template selects a node", func(set *appsv1.DaemonSet) { set.Spec.Template.Spec.NodeSelector = map[string]string{"name": "b"} },
			[]*corev1.Node{node("a"), node("b")}, []*corev1.Pod{daemonPod("a", "new")}, []string{"create on b", "delete a-new"}},
		{"taint", "the node repels new pods", nil, []*corev1.Node{node("a", taint(corev1.TaintEffectNoSchedule))}, nil, nil},
		{"taint later", "a pod may stay where new ones may not come", nil, []*corev1.Node{node("a", taint(corev1.TaintEffectNoSchedule))},
			[]*corev1.Pod{daemonPod("a", "new")}, nil},
		{"no execution", "the node repels all pods", nil, []*corev1.Node{node("a", taint(corev1.TaintEffectNoExecute))}, []*corev1.Pod{daemonPod("a", "new")},
			[]string{"delete a-new"}},
		{"not ready", "pods of DaemonSets tolerate the state of their node", nil, []*corev1.Node{node("a", corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute})},
			nil, []string{"create on a"}},
		{"two pods", "a node has one pod", nil, []*corev1.Node{node("a")}, []*corev1.Pod{daemonPod("a", "new"), daemonPod("a", "old")}, []string{"delete a-old"}},
		{"failed", "a failed pod is replaced", nil, []*corev1.Node{node("a")}, []*corev1.Pod{daemonPod("a", "new", failed)}, []string{"delete a-new"}},
		{"missing node", "nobody else deletes the pod", nil, nil, []*corev1.Pod{daemonPod("gone", "new", unbound)}, []string{"delete gone-new"}},
		{"update", "one node is updated at a time", nil, []*corev1.Node{node("a"), node("b")}, []*corev1.Pod{daemonPod("a", "old"), daemonPod("b", "old")},
			[]string{"delete a-old"}},
		{"update waits", "a new pod isn't ready", nil, []*corev1.Node{node("a"), node("b")}, []*corev1.Pod{daemonPod("a", "new", notReady), daemonPod("b", "old")}, nil},
		{"unavailable first", "an old pod that isn't ready is replaced in any case", nil, []*corev1.Node{node("a"), node("b"), node("c")},
			[]*corev1.Pod{daemonPod("a", "new", notReady), daemonPod("b", "old", notReady), daemonPod("c", "old")}, []string{"delete b-old"}},
		{"on delete", "the user deletes the pods", onDelete, []*corev1.Node{node("a")}, []*corev1.Pod{daemonPod("a", "old")}, nil},
		{"surge", "a new pod comes beside the old one", surge, []*corev1.Node{node("a"), node("b")}, []*corev1.Pod{daemonPod("a", "old"), daemonPod("b", "old")},
			[]string{"create on a"}},
		{"surge waits", "the new pod isn't ready", surge, []*corev1.Node{node("a"), node("b")},
			[]*corev1.Pod{daemonPod("a", "old"), daemonPod("a", "new", notReady), daemonPod("b", "old")}, nil},
		{"surge ends", "the new pod is ready", surge, []*corev1.Node{node("a")}, []*corev1.Pod{daemonPod("a", "old"), daemonPod("a", "new")}, []string{"delete a-old"}},
		{"surge, old pod deleted", "a node has a pod that isn't being deleted", surge, []*corev1.Node{node("a")}, []*corev1.Pod{daemonPod("a", "old", deleting)},
			[]string{"create on a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			set := newSet()
			if test.change != nil {
				test.change(set)
			}
			history := []*appsv1.ControllerRevision{newRevision(t, set, "old", 1), newRevision(t, set, "new", 2)}
			if set.Spec.Template.Spec.NodeSelector != nil { // the present template is another one
				data, err := revisions.Data(&set.Spec.Template)
				if err != nil {
					t.Fatal(err)
				}
				history[1].Data.Raw = data
			}
			c, client := newFake(t, set, test.nodes, history, test.pods)
			if _, err := c.sync(t.Context(), "default/agent"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, changesOf(client), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, but the changes differ (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// A failed pod is deleted once, and the next one only after a delay.
func TestFailedPodsAreLimited(t *testing.T) {
	t.Parallel()
	set := newSet()
	c, client := newFake(t, set, []*corev1.Node{node("a")}, []*appsv1.ControllerRevision{newRevision(t, set, "new", 1)}, []*corev1.Pod{daemonPod("a", "new", failed)})
	var again time.Duration
	for range 2 {
		var err error
		if again, err = c.sync(t.Context(), "default/agent"); err != nil {
			t.Fatal(err)
		}
	}
	if changes := changesOf(client); !slices.Equal(changes, []string{"delete a-new"}) || again != firstDelay {
		t.Errorf("want one deletion and another look after %s, got %s and %s", firstDelay, changes, again)
	}
}

// A pod tolerates the taints of its node's state, and selects the node.
func TestCreatedPod(t *testing.T) {
	t.Parallel()
	set := newSet(func(set *appsv1.DaemonSet) {
		set.Spec.Template.Spec.HostNetwork = true
		set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "own"}, {Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(5))}}
		set.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: "3"}
	})
	c, client := newFake(t, set, []*corev1.Node{node("a")}, nil, nil)
	if _, err := c.sync(t.Context(), "default/agent"); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(client.Actions(), func(action clienttesting.Action) bool { return action.Matches("create", "pods") })
	if i < 0 {
		t.Fatalf("want a pod, got the requests %v", client.Actions())
	}
	pod := client.Actions()[i].(clienttesting.CreateAction).GetObject().(*corev1.Pod)
	var tolerations []string
	for _, toleration := range pod.Spec.Tolerations {
		tolerations = append(tolerations, fmt.Sprint(toleration.Key, " ", toleration.Effect, " ", toleration.TolerationSeconds == nil))
	}
	want := []string{
		"own  true", "node.kubernetes.io/not-ready NoExecute true", "node.kubernetes.io/unreachable NoExecute true",
		"node.kubernetes.io/disk-pressure NoSchedule true", "node.kubernetes.io/memory-pressure NoSchedule true", "node.kubernetes.io/pid-pressure NoSchedule true",
		"node.kubernetes.io/unschedulable NoSchedule true", "node.kubernetes.io/network-unavailable NoSchedule true",
	}
	if diff := cmp.Diff(want, tolerations); diff != "" {
		t.Errorf("the tolerations differ (-want +got):\n%s", diff)
	}
	if targetOf(pod) != "a" || pod.Labels[generationLabel] != "3" || pod.Labels[hashLabel] == "" {
		t.Errorf("want a pod for node a with the labels of its template, got %q, %v", targetOf(pod), pod.Labels)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	set := newSet(func(set *appsv1.DaemonSet) { set.Spec.MinReadySeconds = 60 })
	justReady := func(pod *corev1.Pod) { pod.Status.Conditions[0].LastTransitionTime = metav1.Now() }
	c, client := newFake(t, set, []*corev1.Node{node("a"), node("b"), node("c"), node("d", taint(corev1.TaintEffectNoSchedule))},
		[]*appsv1.ControllerRevision{newRevision(t, set, "new", 1)},
		[]*corev1.Pod{daemonPod("a", "new"), daemonPod("b", "old", justReady), daemonPod("c", "new", notReady), daemonPod("d", "new")})
	again, err := c.sync(t.Context(), "default/agent")
	if err != nil {
		t.Fatal(err)
	}
	if again <= 0 || again > time.Minute {
		t.Errorf("want another look when the next pod becomes available, got one after %s", again)
	}
	written, err := client.AppsV1().DaemonSets("default").Get(t.Context(), "agent", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := appsv1.DaemonSetStatus{
		ObservedGeneration: 2, DesiredNumberScheduled: 3, CurrentNumberScheduled: 3, NumberMisscheduled: 1, NumberReady: 2,
		NumberAvailable: 1, NumberUnavailable: 2, UpdatedNumberScheduled: 2,
	}
	if diff := cmp.Diff(want, written.Status); diff != "" {
		t.Errorf("the status differs (-want +got):\n%s", diff)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		history      []string
		pods         []*corev1.Pod
		want         []string
	}{
		{"same", "the latest revision has the template", []string{"old", "new"}, nil, nil},
		{"back", "the template was that of the first revision", []string{"new", "old"}, nil, []string{"update controllerrevisions default/new"}},
		{"limit", "old revisions that no pod has are deleted", []string{"a", "b", "c", "new"}, []*corev1.Pod{daemonPod("n", "a", deleting)},
			[]string{"delete controllerrevisions default/b", "delete controllerrevisions default/c"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			set := newSet(onDelete)
			var history []*appsv1.ControllerRevision
			for i, image := range test.history {
				history = append(history, newRevision(t, set, image, int64(i+1)))
			}
			c, client := newFake(t, set, nil, history, test.pods)
			if _, err := c.sync(t.Context(), "default/agent"); err != nil {
				t.Fatal(err)
			}
			writes := slices.DeleteFunc(controllertest.Writes(client.Actions()), func(w string) bool { return !strings.Contains(w, "controllerrevisions") })
			if diff := cmp.Diff(test.want, writes, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, but the writes differ (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// Two revisions of the same template become one. The pods of the other get the label of the one that stays.
func TestSameRevisions(t *testing.T) {
	t.Parallel()
	set := newSet()
	twin := newRevision(t, set, "new", 1)
	twin.Name, twin.Labels[hashLabel] = "twin", "twin"
	c, client := newFake(t, set, []*corev1.Node{node("a")}, []*appsv1.ControllerRevision{twin, newRevision(t, set, "new", 2)}, []*corev1.Pod{daemonPod("a", "twin")})
	if _, err := c.sync(t.Context(), "default/agent"); err != nil {
		t.Fatal(err)
	}
	want := []string{"patch pods default/a-twin", "delete controllerrevisions default/twin"}
	if writes := controllertest.Writes(client.Actions()); len(writes) < 2 || !slices.Equal(writes[:2], want) {
		t.Errorf("want the writes %s first, got %s", want, writes)
	}
}

// A name that another revision has is a collision, which is counted in the status.
func TestCollision(t *testing.T) {
	t.Parallel()
	set := newSet()
	hash, err := owned.TemplateHash(&set.Spec.Template, nil)
	if err != nil {
		t.Fatal(err)
	}
	taken := newRevision(t, set, "other", 1)
	taken.Name = "agent-" + hash
	taken.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&metav1.ObjectMeta{Name: "other", UID: "other"}, kind)}
	c, client := newFake(t, set, nil, []*appsv1.ControllerRevision{taken}, nil)
	if _, err := c.sync(t.Context(), "default/agent"); err == nil {
		t.Error("want an error, so that the DaemonSet is handled again")
	}
	written, err := client.AppsV1().DaemonSets("default").Get(t.Context(), "agent", metav1.GetOptions{})
	if err != nil || written.Status.CollisionCount == nil || *written.Status.CollisionCount != 1 {
		t.Errorf("want one collision in the status, got %+v, %v", written.Status, err)
	}
}
