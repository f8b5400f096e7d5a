package deployment

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

var labelsOfApp = map[string]string{"app": "web"}

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labelsOfApp},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}},
	}
}

// newDeployment returns a Deployment of the image "new", which may have one pod more and one less during an update.
func newDeployment(replicas int32, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	one := intstr.FromInt32(1)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid", Generation: 2, Annotations: map[string]string{revisionAnnotation: "2"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labelsOfApp}, Template: template("new"),
			Strategy:                appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &one, MaxUnavailable: &one}},
			ProgressDeadlineSeconds: new(int32(60)), RevisionHistoryLimit: new(int32(1)),
		},
		Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "ReplicaSetUpdated", LastUpdateTime: metav1.Now()}}},
	}
	for _, change := range changes {
		change(d)
	}
	return d
}

// newSet returns a ReplicaSet of the Deployment with an image and a revision. Its name is the image.
func newSet(d *appsv1.Deployment, image string, revision string, wanted, available int32) *appsv1.ReplicaSet {
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: image, UID: types.UID(image), Labels: labelsOfApp, Annotations: map[string]string{revisionAnnotation: revision},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, kind)},
		},
		Spec:   appsv1.ReplicaSetSpec{Replicas: &wanted, Template: template(image)},
		Status: appsv1.ReplicaSetStatus{Replicas: wanted, ReadyReplicas: available, AvailableReplicas: available},
	}
	setReplicaAnnotations(set, d)
	return set
}

// newController returns a controller that knows the objects, and the client that it writes with.
func newController(t *testing.T, d *appsv1.Deployment, sets []*appsv1.ReplicaSet, pods ...*corev1.Pod) (*controller, *fake.Clientset) {
	t.Helper()
	deployments, err := controllertest.Informer(d)
	if err != nil {
		t.Fatal(err)
	}
	setInformer, err := controllertest.Informer(sets...)
	if err != nil {
		t.Fatal(err)
	}
	podInformer, err := controllertest.Informer(pods...)
	if err != nil {
		t.Fatal(err)
	}
	objects := []runtime.Object{d}
	for _, set := range sets {
		objects = append(objects, set)
	}
	client := fake.NewSimpleClientset(objects...)
	runner := work.NewRunner(t.Context())
	t.Cleanup(runner.Close)
	config := Config{
		Runner: runner, Client: client.AppsV1(), Deployments: deployments, Sets: setInformer, Pods: podInformer,
		Events: eventrecorder.NewRecorder(t.Context(), fake.NewClientset().CoreV1(), "test"),
	}
	if err := New(config); err != nil {
		t.Fatal(err)
	}
	return &controller{config}, client
}

// A step of a rollout gives ReplicaSets their sizes.
func TestStep(t *testing.T) {
	t.Parallel()
	recreate := func(d *appsv1.Deployment) {
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	paused := func(d *appsv1.Deployment) { d.Spec.Paused = true }
	type set struct {
		image             string
		wanted, available int32
	}
	for _, test := range []struct {
		name, reason string
		change       func(*appsv1.Deployment)
		sets         []set
		want         map[string]int32 // the sizes afterwards
	}{
		{"surge", "the new ReplicaSet begins with the pods that the Deployment may have more", nil, []set{{"old", 4, 4}, {"new", 0, 0}},
			map[string]int32{"old": 4, "new": 1}},
		{"room below", "an old pod may go, because enough are available", nil, []set{{"old", 4, 4}, {"new", 1, 0}},
			map[string]int32{"old": 3, "new": 1}},
		{"waits", "no pod may go or come before a new one is available", nil, []set{{"old", 3, 3}, {"new", 2, 0}},
			map[string]int32{"old": 3, "new": 2}},
		{"unavailable first", "old pods that aren't available go first", nil, []set{{"older", 2, 0}, {"old", 2, 2}, {"new", 1, 1}},
			map[string]int32{"older": 0, "old": 2, "new": 1}},
		{"oldest first", "of available pods, those of the oldest go first", nil, []set{{"a-old", 2, 2}, {"b-old", 2, 2}, {"new", 1, 1}},
			map[string]int32{"a-old": 0, "b-old": 2, "new": 1}},
		{"last step", "all new pods are available", nil, []set{{"old", 1, 1}, {"new", 4, 4}}, map[string]int32{"old": 0, "new": 4}},
		{"too many", "the new ReplicaSet has more pods than the Deployment", nil, []set{{"new", 6, 6}}, map[string]int32{"new": 4}},
		{"recreate, old pods", "all old pods go first", recreate, []set{{"old", 4, 4}, {"new", 0, 0}}, map[string]int32{"old": 0, "new": 0}},
		{"recreate, no old pods", "then all new ones come", recreate, []set{{"old", 0, 0}, {"new", 0, 0}}, map[string]int32{"old": 0, "new": 4}},
		{"paused", "a paused Deployment with several ReplicaSets isn't rolled out", paused, []set{{"old", 4, 4}, {"new", 1, 1}},
			map[string]int32{"old": 4, "new": 1}},
		{"paused with one", "the only ReplicaSet with pods gets all of them", paused, []set{{"old", 2, 2}, {"new", 0, 0}},
			map[string]int32{"old": 4, "new": 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDeployment(4)
			if test.change != nil {
				test.change(d)
			}
			var sets []*appsv1.ReplicaSet
			for i, set := range test.sets {
				sets = append(sets, newSet(d, set.image, fmt.Sprint(i+1), set.wanted, set.available))
			}
			c, client := newController(t, d, sets)
			if _, err := c.sync(t.Context(), "default/web"); err != nil {
				t.Fatal(err)
			}
			list, err := client.AppsV1().ReplicaSets("default").List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int32{}
			for _, set := range list.Items {
				got[set.Name] = *set.Spec.Replicas
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s, but the sizes differ (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// No old pod goes as long as the status of a ReplicaSet is older than its size.
func TestLateStatus(t *testing.T) {
	t.Parallel()
	unseen := func(set *appsv1.ReplicaSet) { set.Generation = set.Status.ObservedGeneration + 1 }
	going := func(set *appsv1.ReplicaSet) { set.Status.AvailableReplicas = *set.Spec.Replicas + 3 }
	for _, test := range []struct {
		name, reason   string
		newest, oldest func(*appsv1.ReplicaSet)
		shrinks        bool
	}{
		{"in time", "an old pod may go, because enough are available", nil, nil, true},
		{"new size", "the newest ReplicaSet may be about to shrink", unseen, nil, false},
		{"old size", "the old ReplicaSet may be about to shrink", nil, unseen, false},
		{"new pods", "pods of the newest ReplicaSet are about to go", going, nil, false},
		{"old pods", "pods of the old ReplicaSet are about to go", nil, going, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDeployment(4)
			oldest, newest := newSet(d, "old", "1", 3, 3), newSet(d, "new", "2", 2, 1)
			for set, change := range map[*appsv1.ReplicaSet]func(*appsv1.ReplicaSet){newest: test.newest, oldest: test.oldest} {
				if change != nil {
					change(set)
				}
			}
			c, client := newController(t, d, []*appsv1.ReplicaSet{oldest, newest})
			if _, err := c.sync(t.Context(), "default/web"); err != nil {
				t.Fatal(err)
			}
			shrinks := slices.Contains(controllertest.Writes(client.Actions()), "update replicasets default/old")
			if shrinks != test.shrinks {
				t.Errorf("%s: want the old ReplicaSet to shrink: %t, got %t", test.reason, test.shrinks, shrinks)
			}
		})
	}
}

// A Deployment that recreates its pods waits for old pods, also for those that their ReplicaSet no longer counts.
func TestRecreateWaitsForPods(t *testing.T) {
	t.Parallel()
	d := newDeployment(1, func(d *appsv1.Deployment) {
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	})
	old := newSet(d, "old", "1", 0, 0)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "pod", DeletionTimestamp: new(metav1.Now()),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(old, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
	}}
	c, client := newController(t, d, []*appsv1.ReplicaSet{old}, pod)
	if _, err := c.sync(t.Context(), "default/web"); err != nil {
		t.Fatal(err)
	}
	if writes := controllertest.Writes(client.Actions()); slices.ContainsFunc(writes, func(w string) bool { return strings.HasPrefix(w, "create") }) {
		t.Errorf("want no new ReplicaSet before the old pod is gone, got the writes %s", writes)
	}
}

// During a rolling update, a change of the size is distributed in proportion to the sizes of the ReplicaSets.
func TestShares(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason  string
		before, after int32
		sizes, want   []int32 // of the newest ReplicaSet first
	}{
		{"up", "each gets its half of the ten pods", 10, 20, []int32{5, 5}, []int32{10, 10}},
		{"up, rounded", "the largest gets what is left", 10, 15, []int32{3, 8}, []int32{4, 12}},
		{"down", "each loses its half", 20, 10, []int32{10, 10}, []int32{5, 5}},
		{"to zero", "all lose their pods", 10, 0, []int32{5, 5}, []int32{0, 0}},
		{"the same", "nothing is distributed", 10, 10, []int32{3, 8}, []int32{3, 8}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDeployment(test.before)
			newest, old := newSet(d, "newest", "2", test.sizes[0], 0), newSet(d, "old", "1", test.sizes[1], 0)
			newest.CreationTimestamp = metav1.NewTime(time.Unix(1, 0))
			if test.sizes[0]+test.sizes[1] == test.before { // the test has no surge
				d.Spec.Strategy.RollingUpdate.MaxSurge = new(intstr.FromInt32(0))
				setReplicaAnnotations(newest, d)
				setReplicaAnnotations(old, d)
			}
			d.Spec.Replicas = &test.after
			sets := []*appsv1.ReplicaSet{newest, old}
			got := map[string]int32{}
			for i, size := range shares(d, sets) {
				got[sets[i].Name] = size
			}
			if diff := cmp.Diff(map[string]int32{"newest": test.want[0], "old": test.want[1]}, got); diff != "" {
				t.Errorf("%s, but the sizes differ (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	since := func(age time.Duration) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			d.Status.Conditions[0].LastUpdateTime = metav1.NewTime(time.Now().Add(-age))
		}
	}
	for _, test := range []struct {
		name, reason string
		change       func(*appsv1.Deployment)
		available    int32
		want         []string
	}{
		{"progresses", "a pod has become available", since(time.Hour), 1, []string{"Available False MinimumReplicasUnavailable", "Progressing True ReplicaSetUpdated"}},
		{"complete", "all pods are available", since(0), 3, []string{"Available True MinimumReplicasAvailable", "Progressing True NewReplicaSetAvailable"}},
		{"in time", "the deadline isn't over", since(0), 0, []string{"Progressing True ReplicaSetUpdated", "Available False MinimumReplicasUnavailable"}},
		{"too late", "nothing has happened for longer than the deadline", since(time.Hour), 0, []string{"Available False MinimumReplicasUnavailable", "Progressing False ProgressDeadlineExceeded"}},
		{"no deadline", "without a deadline, the progress isn't estimated", func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = nil }, 1, []string{"Available False MinimumReplicasUnavailable"}},
		{"paused", "the deadline doesn't count while the Deployment is paused", func(d *appsv1.Deployment) { d.Spec.Paused = true }, 0, []string{"Progressing Unknown DeploymentPaused", "Available False MinimumReplicasUnavailable"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDeployment(3, test.change)
			d.Status.Replicas, d.Status.UpdatedReplicas = 3, 3
			c, client := newController(t, d, []*appsv1.ReplicaSet{newSet(d, "new", "2", 3, test.available)})
			if _, err := c.sync(t.Context(), "default/web"); err != nil {
				t.Fatal(err)
			}
			written, err := client.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range written.Status.Conditions {
				got = append(got, fmt.Sprint(c.Type, " ", c.Status, " ", c.Reason))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s, but the conditions differ (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// A Deployment is handled again when its progress deadline passes.
func TestDeadline(t *testing.T) {
	t.Parallel()
	d := newDeployment(1)
	sets := []*appsv1.ReplicaSet{newSet(d, "new", "2", 1, 0)}
	c, client := newController(t, d, sets)
	if _, err := c.sync(t.Context(), "default/web"); err != nil { // writes the condition Available
		t.Fatal(err)
	}
	written, err := client.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, _ = newController(t, written, sets)
	if again, err := c.sync(t.Context(), "default/web"); err != nil || again <= 0 || again > time.Minute+time.Second {
		t.Errorf("want another look within a minute, got one after %s and the error %v", again, err)
	}
}

// The hash of a template is the name of a ReplicaSet. If another ReplicaSet has the name, the next one has another hash.
func TestCollision(t *testing.T) {
	t.Parallel()
	d := newDeployment(1)
	r := rollout{d: d}
	first, err := r.newSet()
	if err != nil {
		t.Fatal(err)
	}
	taken := newSet(newDeployment(1, func(d *appsv1.Deployment) { d.UID = "other" }), "other", "1", 0, 0)
	taken.Name = first.Name
	c, client := newController(t, d, []*appsv1.ReplicaSet{taken})
	if _, err := c.sync(t.Context(), "default/web"); err == nil {
		t.Error("want an error, so that the Deployment is handled again")
	}
	written, err := client.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || written.Status.CollisionCount == nil || *written.Status.CollisionCount != 1 {
		t.Fatalf("want one collision in the status, got %+v, %v", written.Status, err)
	}
	r.d = written
	if second, err := r.newSet(); err != nil || second.Name == first.Name {
		t.Errorf("want another name than %s, got %s, %v", first.Name, second.Name, err)
	}
}

// Old ReplicaSets without pods are deleted when the rollout is complete, from the first revision on.
func TestHistoryLimit(t *testing.T) {
	t.Parallel()
	d := newDeployment(1, func(d *appsv1.Deployment) {
		d.Annotations[revisionAnnotation] = "4"
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
	})
	c, client := newController(t, d, []*appsv1.ReplicaSet{newSet(d, "c", "1", 0, 0), newSet(d, "b", "2", 0, 0), newSet(d, "a", "3", 0, 0), newSet(d, "new", "4", 1, 1)})
	if _, err := c.sync(t.Context(), "default/web"); err != nil {
		t.Fatal(err)
	}
	writes := slices.DeleteFunc(controllertest.Writes(client.Actions()), func(w string) bool { return !strings.HasPrefix(w, "delete") })
	if diff := cmp.Diff([]string{"delete replicasets default/c", "delete replicasets default/b"}, writes); diff != "" {
		t.Errorf("the deletions differ (-want +got):\n%s", diff)
	}
}

func TestAnnotate(t *testing.T) {
	t.Parallel()
	d := newDeployment(1)
	d.Annotations = map[string]string{"note": "new", corev1.LastAppliedConfigAnnotation: "{}", revisionAnnotation: "9"}
	set := newSet(d, "old", "1", 1, 1)
	set.Annotations = map[string]string{"note": "old", "own": "kept", revisionAnnotation: "1", historyAnnotation: "0"}
	if !annotate(set, d, 3) {
		t.Error("want a change to be reported")
	}
	want := map[string]string{"note": "new", "own": "kept", revisionAnnotation: "3", historyAnnotation: "0,1"}
	if diff := cmp.Diff(want, set.Annotations); diff != "" {
		t.Errorf("the annotations differ (-want +got):\n%s", diff)
	}
	if annotate(set, d, 2) {
		t.Error("want no change of a later revision")
	}
	long := remember(strings.Repeat("1000,", 399)+"1000", "1001")
	if len(long) > maxHistory || !strings.HasSuffix(long, ",1000,1001") {
		t.Errorf("want a history of at most %d bytes with the last revisions, got %d bytes: %s", maxHistory, len(long), long)
	}
}

// A Deployment is rolled back by an annotation, which the server makes from the field rollbackTo of extensions/v1beta1.
func TestRollback(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, to, image string
	}{
		{"revision", "the annotation names the revision", "1", "first"},
		{"last but one", "0 stands for the revision before", "0", "second"},
		{"present", "the template is the same already", "3", "new"},
		{"unknown", "there is no such revision", "9", "new"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDeployment(1, func(d *appsv1.Deployment) {
				d.Annotations = map[string]string{appsv1.DeprecatedRollbackTo: test.to, revisionAnnotation: "3"}
			})
			c, client := newController(t, d, []*appsv1.ReplicaSet{newSet(d, "first", "1", 0, 0), newSet(d, "second", "2", 0, 0), newSet(d, "new", "3", 1, 1)})
			if _, err := c.sync(t.Context(), "default/web"); err != nil {
				t.Fatal(err)
			}
			written, err := client.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			_, again := rollbackTo(written)
			if got := written.Spec.Template.Spec.Containers[0].Image; got != test.image || again {
				t.Errorf("%s: want the image %s and no annotation, got %s and %v", test.reason, test.image, got, written.Annotations)
			}
		})
	}
}
