package owned_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

var jobs = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}

// object returns a pod with a label, and with the controller of the UID if it isn't "".
func object(name, app string, controller types.UID) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name + "-uid"), Labels: map[string]string{"app": app}}}
	if controller != "" {
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&metav1.ObjectMeta{Name: "owner", UID: controller}, jobs)}
	}
	return pod
}

func deleting(pod *corev1.Pod) *corev1.Pod {
	pod.DeletionTimestamp = new(metav1.Now())
	return pod
}

func TestClaim(t *testing.T) {
	t.Parallel()
	const (
		adoption = `{"metadata":{"finalizers":["f"],"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"owner","uid":"uid","controller":true,"blockOwnerDeletion":true}],"uid":"a-uid"}}`
		release  = `{"metadata":{"$deleteFromPrimitiveList/finalizers":["f"],"ownerReferences":[{"$patch":"delete","uid":"uid"}],"uid":"a-uid"}}`
	)
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "a")
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", nil)
	refused := errors.New("refused")
	for _, test := range []struct {
		name, reason string
		object       *corev1.Pod
		deleting     bool        // whether the owner is being deleted
		live         *corev1.Pod // the owner as the server has it
		fails        error       // the error of the patch
		claimed      bool
		patch        string
		refused      bool // whether Claim returns an error
	}{
		{name: "owned", reason: "the object is the owner's already", object: object("a", "web", "uid"), claimed: true},
		{name: "owned, owner is being deleted", reason: "the claim needs no write", object: object("a", "web", "uid"), deleting: true, claimed: true},
		{name: "another's", reason: "the object has another controller", object: object("a", "web", "other")},
		{name: "orphan", reason: "the object has no controller", object: object("a", "web", ""), claimed: true, patch: adoption},
		{name: "other labels", reason: "the selector doesn't match the orphan", object: object("a", "debug", "")},
		{name: "orphan is being deleted", reason: "the object is about to go", object: deleting(object("a", "web", ""))},
		{name: "owner is being deleted", reason: "an owner that is being deleted adopts nothing", object: object("a", "web", ""), deleting: true},
		{name: "owner was deleted", reason: "the server knows more than the informer", object: object("a", "web", ""),
			live: deleting(object("owner", "", "")), refused: true},
		{name: "orphan is gone", reason: "nothing is left to adopt", object: object("a", "web", ""), patch: adoption, fails: gone},
		{name: "adoption fails", reason: "another owner has adopted it", object: object("a", "web", ""), patch: adoption, fails: refused, refused: true},
		{name: "released", reason: "the labels have changed", object: object("a", "debug", "uid"), patch: release},
		{name: "released already", reason: "the object has no such owner any more", object: object("a", "debug", "uid"), patch: release, fails: invalid},
		{name: "release fails", reason: "the owner tries again", object: object("a", "debug", "uid"), patch: release, fails: refused, refused: true},
		{name: "owner is being deleted, labels differ", reason: "an owner that is being deleted releases nothing", object: object("a", "debug", "uid"), deleting: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			owner := &metav1.ObjectMeta{Namespace: "default", Name: "owner", UID: "uid"}
			if test.deleting {
				owner.DeletionTimestamp = new(metav1.Now())
			}
			var patch string
			claimed, err := owned.Claim(t.Context(), owned.Claimant{
				Owner: owner, Kind: jobs, Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), Finalizers: []string{"f"},
				Live: func(context.Context) (metav1.Object, error) {
					if test.live != nil {
						return test.live, nil
					}
					return owner, nil
				},
				Patch: func(_ context.Context, name string, sent []byte) error {
					patch = string(sent)
					return test.fails
				},
			}, []*corev1.Pod{test.object})
			if (len(claimed) == 1) != test.claimed {
				t.Errorf("%s: want the object to be claimed: %t, got %d objects", test.reason, test.claimed, len(claimed))
			}
			if diff := cmp.Diff(test.patch, patch); diff != "" {
				t.Errorf("%s: the patch differs (-want +got):\n%s", test.reason, diff)
			}
			if (err != nil) != test.refused {
				t.Errorf("%s: want an error: %t, got %v", test.reason, test.refused, err)
			}
		})
	}
}
