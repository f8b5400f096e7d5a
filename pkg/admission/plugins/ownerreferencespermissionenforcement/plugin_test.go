package ownerreferencespermissionenforcement

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	owned := func(owners ...metav1.OwnerReference) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", OwnerReferences: owners}}
	}
	owner := func(kind string, blocks *bool) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "v1", Kind: kind, Name: "o", UID: types.UID(kind), BlockOwnerDeletion: blocks}
	}
	const mayDelete, mayFinalize = "delete configmaps", "update pods/finalizers"
	const notDeletable, notFinalizable = "cannot set an ownerRef on a resource you can't delete: , <nil>", "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>"
	tests := []struct {
		name, reason, refusal string
		allowed               []string
		request               plugintest.Request
	}{
		{name: "no owner", reason: "the object has no owner", request: plugintest.Create(owned())},
		{name: "owner of a new object", reason: "a user who creates an object could also leave it out",
			request: plugintest.Create(owned(owner("Pod", nil)))},
		{name: "owner", reason: "the garbage collector deletes the object after its owner",
			request: plugintest.Update(owned(), owned(owner("Pod", nil))), refusal: notDeletable},
		{name: "owner allowed", reason: "the user may delete the object", allowed: []string{mayDelete},
			request: plugintest.Update(owned(), owned(owner("Pod", nil)))},
		{name: "removed", reason: "without its owner, the object isn't collected any more",
			request: plugintest.Update(owned(owner("Pod", nil)), owned()), refusal: notDeletable},
		{name: "unchanged", reason: "the rest of an object may change",
			request: plugintest.Update(owned(owner("Pod", nil)), owned(owner("Pod", nil)))},
		{name: "blocking", reason: "blockOwnerDeletion delays the deletion of the owner, as a finalizer does",
			request: plugintest.Create(owned(owner("Pod", new(true)))), refusal: notFinalizable},
		{name: "blocking allowed", reason: "the user may set the owner's finalizers", allowed: []string{mayFinalize},
			request: plugintest.Create(owned(owner("Pod", new(true))))},
		{name: "blocking later", reason: "an update needs both permissions", allowed: []string{mayDelete},
			request: plugintest.Update(owned(), owned(owner("Pod", new(true)))), refusal: notFinalizable},
		{name: "blocking before", reason: "only new blocks count", allowed: []string{mayDelete},
			request: plugintest.Update(owned(owner("Pod", new(true))), owned(owner("Pod", new(true)), owner("Node", nil)))},
		{name: "unknown owner", reason: "the resource of the owner is unknown",
			request: plugintest.Create(owned(owner("Gone", new(true)))),
			refusal: "cannot find RESTMapping for APIVersion v1 Kind Gone"},
		{name: "unknown owner of an admin", reason: "the user may set the finalizers of every object",
			allowed: []string{"update */finalizers"}, request: plugintest.Create(owned(owner("Gone", new(true))))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
				asked := a.GetVerb() + " " + a.GetResource()
				if a.GetSubresource() != "" {
					asked += "/" + a.GetSubresource()
				}
				if slices.Contains(test.allowed, asked) {
					return authorizer.DecisionAllow, "", nil
				}
				return authorizer.DecisionDeny, "", nil
			}))
			plugintest.Run(t, p, test.request, test.refusal)
		})
	}
}
