package namespace

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/served"
)

// kinds is a fake of discovery. Its resources have the verbs that the deletion of a namespace needs.
type kinds struct {
	discovery.ServerResourcesInterface
	names []string
	err   error
}

func (k *kinds) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	list := &metav1.APIResourceList{GroupVersion: "v1"}
	for _, name := range k.names {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Namespaced: name != "nodes", Verbs: []string{"get", "list", "delete", "deletecollection"}})
	}
	return []*metav1.APIResourceList{list}, k.err
}

// world is a namespace that is being deleted, with the fake clients of its content.
type world struct {
	*Controller
	kinds *kinds
	typed *fake.Clientset
	calls *metadatafake.FakeMetadataClient
	// left has the objects that remain after a deletion, by resource.
	left map[string][]metav1.PartialObjectMetadata
	// deleted is called with each resource whose objects are deleted.
	deleted func(resource string)
}

func newWorld(t *testing.T, names ...string) *world {
	t.Helper()
	w := &world{kinds: &kinds{names: names}, left: map[string][]metav1.PartialObjectMetadata{}, deleted: func(string) {}}
	w.typed = fake.NewClientset(&corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: "ns", UID: "ns",
			DeletionTimestamp: new(metav1.NewTime(time.Now().Add(-time.Minute))), Finalizers: []string{"test"}},
		Spec:   corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes, "example.com/mine"}},
		Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	})
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w.calls = metadatafake.NewSimpleMetadataClient(scheme)
	w.calls.PrependReactor("delete-collection", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		w.deleted(action.GetResource().Resource)
		return true, nil, nil
	})
	w.calls.PrependReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		list := &metav1.List{}
		for _, object := range w.left[action.GetResource().Resource] {
			list.Items = append(list.Items, runtime.RawExtension{Object: &object})
		}
		return true, list, nil
	})
	w.Controller = &Controller{
		Config:  Config{Client: w.typed.CoreV1(), Metadata: w.calls, Resources: served.New(w.kinds, nil)},
		waiting: sets.New[string](),
		ended:   func(string) {},
	}
	return w
}

// refusePods makes the deletion of the pods fail before the pods that remain are listed.
func (w *world) refusePods() {
	w.calls.PrependReactor("delete-collection", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("a webhook refuses the deletion")
	})
}

// deletedResources returns the resources whose objects were deleted, sorted.
func (w *world) deletedResources() (resources []string) {
	for _, action := range w.calls.Actions() {
		if action.GetVerb() == "delete-collection" {
			resources = append(resources, action.GetResource().Resource)
		}
	}
	slices.Sort(resources)
	return resources
}

func (w *world) finalizers(t *testing.T) []corev1.FinalizerName {
	t.Helper()
	namespace, err := w.typed.CoreV1().Namespaces().Get(t.Context(), "ns", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return namespace.Spec.Finalizers
}

func TestDelete(t *testing.T) {
	t.Parallel()
	const mine = corev1.FinalizerName("example.com/mine")
	held := []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "o", Finalizers: []string{"example.com/hold"}}}}
	for _, test := range []struct {
		name, reason string
		change       func(*world)
		deleted      []string
		finalizers   []corev1.FinalizerName
		again        time.Duration
		fails        bool
	}{
		{"empty", "the controller removes only its own finalizer", func(*world) {},
			[]string{"configmaps", "pods", "secrets"}, []corev1.FinalizerName{mine}, 0, false},
		{"held", "the controllers of finalizers get some time", func(w *world) { w.left["secrets"] = held },
			[]string{"configmaps", "pods", "secrets"}, []corev1.FinalizerName{"kubernetes", mine}, 8 * time.Second,
			false},
		{"pods", "other objects are deleted after the pods", func(w *world) { w.left["pods"] = held }, []string{"pods"},
			[]corev1.FinalizerName{"kubernetes", mine}, 8 * time.Second, false},
		{"pods refused", "only pods that are known to remain hold other objects back",
			func(w *world) { w.refusePods() }, []string{"configmaps", "pods", "secrets"},
			[]corev1.FinalizerName{"kubernetes", mine}, 0, true},
		{"without a reason", "an object that stays without a finalizer is an error",
			func(w *world) { w.left["secrets"] = []metav1.PartialObjectMetadata{{}} },
			[]string{"configmaps", "pods", "secrets"}, []corev1.FinalizerName{"kubernetes", mine}, 0, true},
		{"undiscovered", "an unknown kind may have objects",
			func(w *world) { w.kinds.err = errors.New("a server is away") }, []string{"configmaps", "pods", "secrets"},
			[]corev1.FinalizerName{"kubernetes", mine}, 0, true},
		{"new kinds", "a kind that appears during the deletion may have objects",
			func(w *world) { w.deleted = func(string) { w.Resources.Changed() } },
			[]string{"configmaps", "pods", "secrets"}, []corev1.FinalizerName{"kubernetes", mine}, time.Millisecond,
			false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "pods", "configmaps", "secrets", "nodes")
			test.change(w)
			again, err := w.delete(t.Context(), "ns")
			if again != test.again || (err != nil) != test.fails {
				t.Errorf("%s: want another look after %s, and an error: %t, got %s, %v", test.reason, test.again, test.fails, again, err)
			}
			if diff := cmp.Diff(test.deleted, w.deletedResources()); diff != "" {
				t.Errorf("%s: the resources that were deleted differ (-want +got):\n%s", test.reason, diff)
			}
			if diff := cmp.Diff(test.finalizers, w.finalizers(t)); diff != "" {
				t.Errorf("%s: the finalizers differ (-want +got):\n%s, writes %v", test.reason, diff, controllertest.Writes(w.typed.Actions()))
			}
			done := err == nil && again == 0
			if w.waiting.Has("ns") == done {
				t.Errorf("%s: the namespace waits for objects that are deleted: %t", test.reason, !done)
			}
		})
	}
}

// If the pods' deletion fails before the remaining pods are listed, the conditions have the error of the request, and
// the remaining objects of other resources.
func TestConditionsOfRefusedPods(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "pods", "secrets")
	w.refusePods()
	w.left["secrets"] = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "s", Finalizers: []string{"example.com/hold"}}}}
	if _, err := w.delete(t.Context(), "ns"); err == nil {
		t.Error("want the deletion to be tried again, got no error")
	}
	namespace, err := w.typed.CoreV1().Namespaces().Get(t.Context(), "ns", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[corev1.NamespaceConditionType]string{}
	for _, condition := range namespace.Status.Conditions {
		if condition.Status == corev1.ConditionTrue {
			got[condition.Type] = condition.Message
		}
	}
	want := map[corev1.NamespaceConditionType]string{
		corev1.NamespaceDeletionContentFailure: "Failed to delete all resource types, 1 remaining: a webhook refuses the deletion",
		corev1.NamespaceContentRemaining:       "Some resources are remaining: secrets. has 1 resource instances",
		corev1.NamespaceFinalizersRemaining:    "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the conditions that are true differ (-want +got):\n%s", diff)
	}
}

// If new kinds appear during the deletion of a namespace, the controller's next call of delete also deletes the objects
// of these kinds.
func TestKindThatAppears(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "configmaps")
	w.deleted = func(string) {
		w.kinds.names = []string{"configmaps", "widgets"}
		w.Resources.Changed()
		w.deleted = func(string) {}
	}
	for range 2 {
		if _, err := w.delete(t.Context(), "ns"); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"configmaps", "configmaps", "widgets"}, w.deletedResources()); diff != "" {
		t.Errorf("the resources that were deleted differ (-want +got):\n%s", diff)
	}
	if got := w.finalizers(t); len(got) != 1 {
		t.Errorf("want the namespace to be let go, got finalizers %v", got)
	}
}

// The conditions list the remaining objects and the failures. If the status of a condition doesn't change, its
// lastTransitionTime stays.
func TestConditions(t *testing.T) {
	t.Parallel()
	first, second := metav1.Unix(1000, 0), metav1.Unix(2000, 0)
	trouble := &content{
		remaining: map[schema.GroupVersionResource]int{{Version: "v1", Resource: "secrets"}: 2,
			{Group: "apps", Version: "v1", Resource: "deployments"}: 1},
		finalizers:   map[string]int{"example.com/hold": 3},
		undiscovered: errors.New("no discovery"), invalid: errors.New("no version"), undeleted: []error{errors.New("b"), errors.New("a")},
	}
	shown := func(all []corev1.NamespaceCondition) (lines []string) {
		for _, c := range all {
			if c.Status == corev1.ConditionTrue {
				lines = append(lines, fmt.Sprintf("%s %d %s: %s", c.Type, c.LastTransitionTime.Unix(), c.Reason, c.Message))
			}
		}
		return lines
	}
	conditions, changed := trouble.conditions(nil, first)
	want := []string{
		"NamespaceDeletionDiscoveryFailure 1000 DiscoveryFailed: no discovery",
		"NamespaceDeletionGroupVersionParsingFailure 1000 GroupVersionParsingFailed: no version",
		"NamespaceDeletionContentFailure 1000 ContentDeletionFailed: Failed to delete all resource types, 2 remaining: a, b",
		"NamespaceContentRemaining 1000 SomeResourcesRemain: Some resources are remaining: deployments.apps has 1 resource instances, secrets. has 2 resource instances",
		"NamespaceFinalizersRemaining 1000 SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 3 resource instances",
	}
	if diff := cmp.Diff(want, shown(conditions)); diff != "" || !changed {
		t.Errorf("changed: %t; the conditions differ (-want +got):\n%s", changed, diff)
	}
	if _, changed := trouble.conditions(conditions, second); changed {
		t.Error("want the same trouble to be no change")
	}
	trouble.remaining[schema.GroupVersionResource{Version: "v1", Resource: "secrets"}] = 1
	conditions, changed = trouble.conditions(conditions, second)
	want[3] = "NamespaceContentRemaining 1000 SomeResourcesRemain: Some resources are remaining: deployments.apps has 1 resource instances, secrets. has 1 resource instances"
	if diff := cmp.Diff(want, shown(conditions)); diff != "" || !changed {
		t.Errorf("changed: %t; with fewer objects, the conditions differ (-want +got):\n%s", changed, diff)
	}
	conditions, changed = (&content{}).conditions(conditions, second)
	if got := shown(conditions); len(got) > 0 || !changed || len(conditions) != 5 || !conditions[0].LastTransitionTime.Equal(&second) {
		t.Errorf("want all to be good since then, got %v", conditions)
	}
}
