package statefulset

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/revisions"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

var labelsOfApp = map[string]string{"app": "db"}

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labelsOfApp},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}},
	}
}

// newSet returns a StatefulSet of the image "new", which was the image "old" before.
func newSet(replicas int32, changes ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db", UID: "uid", Generation: 2},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labelsOfApp}, Template: template("new"), ServiceName: "svc",
			RevisionHistoryLimit: new(int32(10)),
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(0))},
			},
		},
		Status: appsv1.StatefulSetStatus{CurrentRevision: "old"},
	}
	for _, change := range changes {
		change(set)
	}
	return set
}

func parallel(set *appsv1.StatefulSet) { set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }

func withClaims(whenDeleted, whenScaled appsv1.PersistentVolumeClaimRetentionPolicyType) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) {
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
		set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: whenDeleted, WhenScaled: whenScaled}
	}
}

// newRevision returns the revision of an image, whose name is the image.
func newRevision(t *testing.T, set *appsv1.StatefulSet, image string, number int64) *appsv1.ControllerRevision {
	t.Helper()
	of := template(image)
	data, err := revisions.Data(&of)
	if err != nil {
		t.Fatal(err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: image, Labels: labelsOfApp, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, kind)}},
		Data:       runtime.RawExtension{Raw: data}, Revision: number,
	}
}

// state is the state of a pod in a test.
type state struct {
	ordinal  int
	revision string
	ready    bool
	phase    corev1.PodPhase // Running if it is ""
	deleting bool
}

func (s state) pod(set *appsv1.StatefulSet) *corev1.Pod {
	of := template(s.revision)
	pod := newPod(set, s.ordinal, &revision{&appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: s.revision}}, &of})
	pod.UID, pod.Status.Phase = types.UID(pod.Name), s.phase
	if s.phase == "" {
		pod.Status.Phase = corev1.PodRunning
	}
	if s.ready {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour))}}
	}
	if s.deleting {
		pod.DeletionTimestamp = new(metav1.Now())
	}
	return pod
}

// newController returns a controller that knows the objects, and the client that it writes with.
func newController(t *testing.T, set *appsv1.StatefulSet, history []*appsv1.ControllerRevision, pods []*corev1.Pod, claims ...*corev1.PersistentVolumeClaim) (*controller, *fake.Clientset) {
	t.Helper()
	sets, err := controllertest.Informer(set)
	if err != nil {
		t.Fatal(err)
	}
	historyInformer, err := controllertest.Informer(history...)
	if err != nil {
		t.Fatal(err)
	}
	podInformer, err := controllertest.Informer(pods...)
	if err != nil {
		t.Fatal(err)
	}
	claimInformer, err := controllertest.Informer(claims...)
	if err != nil {
		t.Fatal(err)
	}
	objects := []runtime.Object{set}
	for _, revision := range history {
		objects = append(objects, revision)
	}
	for _, pod := range pods {
		objects = append(objects, pod)
	}
	for _, claim := range claims {
		objects = append(objects, claim)
	}
	client := fake.NewSimpleClientset(objects...)
	runner := work.NewRunner(t.Context())
	t.Cleanup(runner.Close)
	config := Config{
		Runner: runner, Client: client.AppsV1(), Core: client.CoreV1(), Sets: sets, Revisions: historyInformer, Pods: podInformer, Claims: claimInformer,
		Events: eventrecorder.NewRecorder(t.Context(), fake.NewClientset().CoreV1(), "test"),
	}
	if err := New(config); err != nil {
		t.Fatal(err)
	}
	return &controller{config, revisions.History{Client: client.AppsV1(), Informer: historyInformer}}, client
}

// A step creates or deletes the pods that are due. All other steps wait for the pods.
func TestStep(t *testing.T) {
	t.Parallel()
	ready := func(ordinal int, revision string) state {
		return state{ordinal: ordinal, revision: revision, ready: true}
	}
	rolling := func(partition int32, unavailable int) func(*appsv1.StatefulSet) {
		return func(set *appsv1.StatefulSet) {
			set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition, MaxUnavailable: new(intstr.FromInt(unavailable))}
		}
	}
	onDelete := func(set *appsv1.StatefulSet) {
		set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	}
	for _, test := range []struct {
		name, reason string
		replicas     int32
		changes      []func(*appsv1.StatefulSet)
		pods         []state
		want         []string
	}{
		{"first", "pods are created one after the other", 3, nil, nil, []string{"create pods default/db-0"}},
		{"waits", "the first pod isn't ready", 3, nil, []state{{ordinal: 0, revision: "new"}}, nil},
		{"second", "the first pod is ready", 3, nil, []state{ready(0, "new")}, []string{"create pods default/db-1"}},
		{"gap", "a missing pod is created before later ones are looked at", 3, nil, []state{ready(1, "new")}, []string{"create pods default/db-0"}},
		{"parallel", "all pods are created at once", 3, []func(*appsv1.StatefulSet){parallel}, []state{{ordinal: 1, revision: "new"}},
			[]string{"create pods default/db-0", "create pods default/db-2"}},
		{"ordinals", "the first ordinal is another one", 1, []func(*appsv1.StatefulSet){func(set *appsv1.StatefulSet) { set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5} }},
			nil, []string{"create pods default/db-5"}},
		{"ended", "a pod that has ended is deleted, to be created again", 1, nil, []state{{ordinal: 0, revision: "new", phase: corev1.PodSucceeded}},
			[]string{"delete pods default/db-0"}},
		{"surplus", "the last pod is deleted first", 1, nil, []state{ready(0, "new"), ready(1, "new"), ready(2, "new")}, []string{"delete pods default/db-2"}},
		{"surplus goes", "the next one waits until the last one is gone", 1, nil,
			[]state{ready(0, "new"), ready(1, "new"), {ordinal: 2, revision: "new", ready: true, deleting: true}}, nil},
		{"unhealthy surplus", "the last pod goes, although an earlier one isn't ready", 1, nil, []state{ready(0, "new"), {ordinal: 1, revision: "new"}, ready(2, "new")},
			[]string{"delete pods default/db-2"}},
		{"last one unhealthy", "no pod goes before it is ready, if an earlier one isn't ready either", 1, nil,
			[]state{ready(0, "new"), {ordinal: 1, revision: "new"}, {ordinal: 2, revision: "new"}}, nil},
		{"surplus, parallel", "all surplus pods are deleted at once", 1, []func(*appsv1.StatefulSet){parallel},
			[]state{ready(0, "new"), ready(1, "new"), ready(2, "new")}, []string{"delete pods default/db-1", "delete pods default/db-2"}},
		{"update", "the last pod is updated first", 2, nil, []state{ready(0, "old"), ready(1, "old")}, []string{"delete pods default/db-1"}},
		{"update goes on", "the last pod is ready again", 2, nil, []state{ready(0, "old"), ready(1, "new")}, []string{"delete pods default/db-0"}},
		{"partition", "pods before the partition stay", 3, []func(*appsv1.StatefulSet){rolling(2, 1)}, []state{ready(0, "old"), ready(1, "old"), ready(2, "new")}, nil},
		{"below the partition", "a missing pod before the partition has the old revision", 2, []func(*appsv1.StatefulSet){rolling(1, 1)}, []state{ready(1, "new")},
			[]string{"create pods default/db-0"}},
		{"max unavailable", "two pods may be updated at once", 3, []func(*appsv1.StatefulSet){rolling(0, 2)}, []state{ready(0, "old"), ready(1, "old"), ready(2, "old")},
			[]string{"delete pods default/db-2", "delete pods default/db-1"}},
		{"max unavailable, parallel", "pods that aren't ready are updated first", 3, []func(*appsv1.StatefulSet){parallel, rolling(0, 1)},
			[]state{{ordinal: 0, revision: "old"}, ready(1, "old"), ready(2, "old")}, []string{"delete pods default/db-0"}},
		{"on delete", "the user deletes the pods", 1, []func(*appsv1.StatefulSet){onDelete}, []state{ready(0, "old")}, nil},
		{"being deleted", "the garbage collector deletes the pods", 2, []func(*appsv1.StatefulSet){func(set *appsv1.StatefulSet) { set.DeletionTimestamp = new(metav1.Now()) }},
			[]state{ready(0, "new")}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			set := newSet(test.replicas, test.changes...)
			var pods []*corev1.Pod
			for _, state := range test.pods {
				pods = append(pods, state.pod(set))
			}
			c, client := newController(t, set, []*appsv1.ControllerRevision{newRevision(t, set, "old", 1), newRevision(t, set, "new", 2)}, pods)
			if _, err := c.sync(t.Context(), "default/db"); err != nil {
				t.Fatal(err)
			}
			writes := slices.DeleteFunc(controllertest.Writes(client.Actions()), func(w string) bool { return w == "update statefulsets/status default/db" })
			if set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement { // requests at the same time have no order
				slices.Sort(writes)
			}
			if diff := cmp.Diff(test.want, writes, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, but the writes differ (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// A pod has the identity of its ordinal, and the revision in its label.
func TestNewPod(t *testing.T) {
	t.Parallel()
	set := newSet(1, withClaims(appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.RetainPersistentVolumeClaimRetentionPolicyType))
	of := template("new")
	of.Spec.Volumes = []corev1.Volume{{Name: "data"}, {Name: "scratch"}}
	pod := newPod(set, 3, &revision{newRevision(t, set, "new", 1), &of})
	want := map[string]string{"app": "db", appsv1.StatefulSetPodNameLabel: "db-3", appsv1.PodIndexLabel: "3", appsv1.StatefulSetRevisionLabel: "new"}
	if diff := cmp.Diff(want, pod.Labels); diff != "" {
		t.Errorf("the labels differ (-want +got):\n%s", diff)
	}
	if pod.Name != "db-3" || pod.Spec.Hostname != "db-3" || pod.Spec.Subdomain != "svc" {
		t.Errorf("want the name db-3 in svc, got %s, %s, %s", pod.Name, pod.Spec.Hostname, pod.Spec.Subdomain)
	}
	if len(pod.Spec.Volumes) != 2 || pod.Spec.Volumes[0].PersistentVolumeClaim == nil || pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != "data-db-3" || !hasClaims(set, pod) {
		t.Errorf("want the claim in place of the template's volume, got %+v", pod.Spec.Volumes)
	}
}

func TestParentOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, pod, set string
		ordinal                int
	}{
		{"ordinal", "the last part is the ordinal", "my-db-12", "my-db", 12},
		{"no number", "the last part isn't a number", "my-db", "", -1},
		{"too large", "the ordinal doesn't fit an int32", "db-4294967296", "", -1},
		{"no dash", "the name has one part", "db", "", -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if set, ordinal := parentOf(test.pod); set != test.set || ordinal != test.ordinal {
				t.Errorf("%s: want %q and %d, got %q and %d", test.reason, test.set, test.ordinal, set, ordinal)
			}
		})
	}
}

// The policy decides which owners a claim has: the garbage collector deletes it with them.
func TestRetention(t *testing.T) {
	t.Parallel()
	const keep, drop = appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	set := newSet(1)
	wanted, surplus := state{ordinal: 0, revision: "new", ready: true}, state{ordinal: 1, revision: "new", ready: true}
	owner := func(object metav1.Object, isSet bool) metav1.OwnerReference {
		if isSet {
			return *metav1.NewControllerRef(object, kind)
		}
		return *metav1.NewControllerRef(object, podKind)
	}
	earlier := owner(&metav1.ObjectMeta{Name: "db", UID: "earlier"}, true)
	foreign := owner(&metav1.ObjectMeta{Name: "other", UID: "other"}, true)
	for _, test := range []struct {
		name, reason            string
		whenDeleted, whenScaled appsv1.PersistentVolumeClaimRetentionPolicyType
		pod                     state
		before                  []metav1.OwnerReference
		want                    []string
	}{
		{"kept", "claims are kept", keep, keep, wanted, nil, nil},
		{"kept again", "the policy has changed", keep, keep, wanted, []metav1.OwnerReference{owner(set, true)}, nil},
		{"deleted with the set", "the claim goes with the StatefulSet", drop, keep, wanted, nil, []string{"db"}},
		{"surplus, deleted with the set", "a scaling keeps the claim", drop, keep, surplus, nil, []string{"db"}},
		{"wanted, deleted with the pod", "only a scaling deletes the claim", keep, drop, wanted, nil, nil},
		{"surplus, deleted with the pod", "the claim goes with the surplus pod", keep, drop, surplus, nil, []string{"db-1"}},
		{"wanted, deleted with both", "the claim goes with the StatefulSet", drop, drop, wanted, nil, []string{"db"}},
		{"surplus, deleted with both", "the claim goes with the surplus pod", drop, drop, surplus, []metav1.OwnerReference{owner(set, true)}, []string{"db-1"}},
		{"of an earlier set", "the garbage collector deletes the claim", drop, drop, wanted, []metav1.OwnerReference{earlier}, []string{"earlier"}},
		{"of another controller", "the claim belongs to another controller", drop, drop, wanted, []metav1.OwnerReference{foreign}, []string{"other"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			set := newSet(1, withClaims(test.whenDeleted, test.whenScaled))
			pod := test.pod.pod(set)
			claim := newClaims(set, pod)[0]
			claim.OwnerReferences = test.before
			c, client := newController(t, set, nil, nil, claim)
			if err := c.retain(t.Context(), set, pod); err != nil {
				t.Fatal(err)
			}
			written, err := client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), claim.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, ref := range written.OwnerReferences {
				if ref.UID == "earlier" {
					ref.Name = "earlier"
				}
				got = append(got, ref.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s, but the owners differ (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// A claim gets its owners although another controller has changed it in the meantime.
func TestRetentionAfterAConflict(t *testing.T) {
	t.Parallel()
	set := newSet(1, withClaims(appsv1.DeletePersistentVolumeClaimRetentionPolicyType, appsv1.RetainPersistentVolumeClaimRetentionPolicyType))
	pod := state{ordinal: 0, revision: "new"}.pod(set)
	c, client := newController(t, set, nil, nil, newClaims(set, pod)...)
	conflicts := 1
	client.PrependReactor("update", "persistentvolumeclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
		conflicts--
		return conflicts >= 0, nil, apierrors.NewConflict(corev1.Resource("persistentvolumeclaims"), "data-db-0", nil)
	})
	if err := c.retain(t.Context(), set, pod); err != nil {
		t.Fatal(err)
	}
	if claim, err := client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), "data-db-0", metav1.GetOptions{}); err != nil || !metav1.IsControlledBy(claim, set) {
		t.Errorf("want the StatefulSet to own the claim, got %v, %v", claim, err)
	}
}

// A pod has its claims before it is created. It isn't created while the claim of an earlier pod is about to be deleted.
func TestClaimsOfANewPod(t *testing.T) {
	t.Parallel()
	const keep, drop = appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	set := newSet(1, withClaims(keep, drop))
	c, client := newController(t, set, []*appsv1.ControllerRevision{newRevision(t, set, "new", 1)}, nil)
	if _, err := c.sync(t.Context(), "default/db"); err != nil {
		t.Fatal(err)
	}
	want := []string{"create persistentvolumeclaims default/data-db-0", "create pods default/db-0", "update statefulsets/status default/db"}
	if diff := cmp.Diff(want, controllertest.Writes(client.Actions())); diff != "" {
		t.Errorf("the writes differ (-want +got):\n%s", diff)
	}

	claim := newClaims(set, state{ordinal: 0}.pod(set))[0]
	claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&metav1.ObjectMeta{Name: "db-0", UID: "earlier"}, podKind)}
	c, client = newController(t, set, []*appsv1.ControllerRevision{newRevision(t, set, "new", 1)}, nil, claim)
	if _, err := c.sync(t.Context(), "default/db"); err != nil {
		t.Fatal(err)
	}
	if writes := controllertest.Writes(client.Actions()); slices.Contains(writes, "create pods default/db-0") {
		t.Errorf("want no pod before the claim of the earlier one is gone, got the writes %s", writes)
	}
	var queued []string
	c.claimDeleted(claim, func(key string) { queued = append(queued, key) })
	if !slices.Equal(queued, []string{"default/db"}) {
		t.Errorf("want the StatefulSet to be handled when the claim is gone, got %s", queued)
	}
}

// The history has a revision of each template. A template that comes back gets the latest number.
func TestHistory(t *testing.T) {
	t.Parallel()
	set := newSet(0, func(set *appsv1.StatefulSet) { set.Spec.RevisionHistoryLimit = new(int32(1)) })
	for _, test := range []struct {
		name, reason string
		history      []string
		want         []string
	}{
		{"first", "the first template makes a revision", nil, []string{"create controllerrevisions default/db-685bd7dc46"}},
		{"same", "the latest revision has the template", []string{"old", "new"}, nil},
		{"back", "the template was that of the first revision", []string{"new", "old"}, []string{"update controllerrevisions default/new"}},
		{"limit", "old revisions that nothing uses are deleted", []string{"a", "b", "old", "new"}, []string{"delete controllerrevisions default/a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var history []*appsv1.ControllerRevision
			for i, image := range test.history {
				history = append(history, newRevision(t, set, image, int64(i+1)))
			}
			c, client := newController(t, set, history, nil)
			if _, err := c.sync(t.Context(), "default/db"); err != nil {
				t.Fatal(err)
			}
			writes := slices.DeleteFunc(controllertest.Writes(client.Actions()), func(w string) bool { return w == "update statefulsets/status default/db" })
			if diff := cmp.Diff(test.want, writes, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, but the writes differ (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// A name that another revision has is a collision. The number of collisions makes another name.
func TestCollision(t *testing.T) {
	t.Parallel()
	set := newSet(0)
	data, err := revisions.Data(&set.Spec.Template)
	if err != nil {
		t.Fatal(err)
	}
	taken := newRevision(t, set, "other", 1)
	taken.Name = "db-" + hashOf(data, 0)
	taken.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&metav1.ObjectMeta{Name: "other", UID: "other"}, kind)}
	c, client := newController(t, set, []*appsv1.ControllerRevision{taken}, nil)
	if _, err := c.sync(t.Context(), "default/db"); err != nil {
		t.Fatal(err)
	}
	written, err := client.AppsV1().StatefulSets("default").Get(t.Context(), "db", metav1.GetOptions{})
	if err != nil || *written.Status.CollisionCount != 1 || written.Status.UpdateRevision != "db-"+hashOf(data, 1) {
		t.Errorf("want a collision and the revision db-%s, got %+v, %v", hashOf(data, 1), written.Status, err)
	}
}

// When all pods have the next revision and are ready, it becomes the current one.
func TestStatus(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		pods         []state
		want         string
	}{
		{"half", "one pod is old", []state{{ordinal: 0, revision: "old", ready: true}, {ordinal: 1, revision: "new", ready: true}}, "2 2 1 1 old new"},
		{"not ready", "one pod isn't ready", []state{{ordinal: 0, revision: "new", ready: true}, {ordinal: 1, revision: "new"}}, "2 1 0 2 old new"},
		{"all", "all pods are new and ready", []state{{ordinal: 0, revision: "new", ready: true}, {ordinal: 1, revision: "new", ready: true}}, "2 2 2 2 new new"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			set := newSet(2, func(set *appsv1.StatefulSet) {
				set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
			})
			var pods []*corev1.Pod
			for _, state := range test.pods {
				pods = append(pods, state.pod(set))
			}
			c, client := newController(t, set, []*appsv1.ControllerRevision{newRevision(t, set, "old", 1), newRevision(t, set, "new", 2)}, pods)
			if _, err := c.sync(t.Context(), "default/db"); err != nil {
				t.Fatal(err)
			}
			written, err := client.AppsV1().StatefulSets("default").Get(t.Context(), "db", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			s := written.Status
			if got := fmt.Sprint(s.Replicas, " ", s.ReadyReplicas, " ", s.CurrentReplicas, " ", s.UpdatedReplicas, " ", s.CurrentRevision, " ", s.UpdateRevision); got != test.want {
				t.Errorf("%s: want the status %s, got %s", test.reason, test.want, got)
			}
		})
	}
}
