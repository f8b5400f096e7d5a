package namespace

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/miniapi-dev/miniapi/pkg/controllers/served"
)

// The controller deletes orphans, which are objects whose namespace doesn't exist. If a webhook with a namespace
// selector prevents the deletion of an orphan, the controller tries again later. Objects of a namespace that exists
// stay.
func TestOrphans(t *testing.T) {
	t.Parallel()
	aboutNamespace := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "other")
	for _, test := range []struct {
		name, reason, namespace string
		answer                  error
		deletions               int
		again                   time.Duration
	}{
		{"orphan", "the namespace has ended", "other", nil, 1, lateLooks[1]},
		{"deleted meanwhile", "another client was faster", "other",
			apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "late"), 1, lateLooks[1]},
		{"another object", "the name has a new object", "other",
			apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "late", nil), 1, lateLooks[1]},
		{"held", "the server can't read the labels of the namespace", "other", aboutNamespace, 1, lateLooks[2]},
		{"new namespace", "a namespace of the same name has been created", "ns", nil, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "configmaps")
			w.left["configmaps"] = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "late", Namespace: test.namespace, UID: "late"}}}
			w.Count = func(context.Context, served.Resource, string) (int64, bool) { return 1, true }
			deletions := 0
			w.calls.PrependReactor("delete", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
				deletions++
				if uid := action.(clienttesting.DeleteActionImpl).DeleteOptions.Preconditions.UID; uid == nil || *uid != "late" {
					t.Errorf("want the deletion of one object, got the uid %v", uid)
				}
				return true, nil, test.answer
			})
			o := &orphans{Config: &w.Config, looks: map[string]int{test.namespace: len(lateLooks)}}
			again, err := o.look(t.Context(), test.namespace)
			if err != nil || again != test.again || deletions != test.deletions {
				t.Errorf("%s: want %d deletions and another look after %v, got %d, %v and the error %v", test.reason, test.deletions, test.again, deletions, again, err)
			}
		})
	}
}
