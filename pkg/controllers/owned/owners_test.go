package owned_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

func TestOwners(t *testing.T) {
	t.Parallel()
	controller := func(name, app string) *corev1.ReplicationController {
		return &corev1.ReplicationController{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "uid"},
			Spec:       corev1.ReplicationControllerSpec{Selector: map[string]string{"app": app}},
		}
	}
	all := controller("all", "")
	all.Spec.Selector = nil
	informer, err := controllertest.Informer(controller("owner", "web"), controller("second", "web"), controller("third", "db"), all)
	if err != nil {
		t.Fatal(err)
	}
	owners := owned.Owners{Kind: "Job", Informer: informer, Selector: func(obj any) (labels.Selector, error) {
		return labels.SelectorFromSet(obj.(*corev1.ReplicationController).Spec.Selector), nil
	}}
	otherKind := object("a", "web", "uid")
	otherKind.OwnerReferences[0].Kind = "ReplicaSet"
	for _, test := range []struct {
		name, reason string
		object       *corev1.Pod
		want         []string
	}{
		{"owned", "the controller reference names the owner", object("a", "db", "uid"), []string{"default/owner"}},
		{"owned before", "the owner was deleted, and made again", object("a", "web", "earlier"), nil},
		{"another kind's", "the object belongs to another controller", otherKind, nil},
		{"orphan", "each owner that selects it may adopt it, but none that selects everything", object("a", "web", ""), []string{"default/owner", "default/second"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			owners.Events(nil, func(key string) { got = append(got, key) }).Changed(test.object)
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("%s: want %s, got %s", test.reason, test.want, got)
			}
		})
	}
}

// An object that gets another controller is an event of both.
func TestOwnersOfAChange(t *testing.T) {
	t.Parallel()
	informer, err := controllertest.Informer(&corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owner", UID: "uid"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	events := owned.Owners{Kind: "Job", Informer: informer, Selector: func(any) (labels.Selector, error) { return labels.Nothing(), nil }}.
		Events(nil, func(key string) { got = append(got, key) })
	events.Updated(object("a", "web", "uid"), object("a", "web", ""))
	if want := []string{"default/owner"}; !slices.Equal(got, want) {
		t.Errorf("want %s, which has lost its object, got %s", want, got)
	}
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	informer, err := controllertest.Informer(object("a", "web", "uid"), object("b", "web", ""), object("c", "web", "other"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // several controllers index the informer
		if err := owned.Index(informer); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, pod := range owned.Candidates[*corev1.Pod](informer, &metav1.ObjectMeta{Namespace: "default", UID: "uid"}) {
		got = append(got, pod.Name)
	}
	if want := []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("want the owner's pods and the orphans, %s, got %s", want, got)
	}
}
