package scheduling_test

import (
	"testing"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
	"github.com/miniapi-dev/miniapi/pkg/registry/scheduling"
)

func TestPriorityClassDeletion(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		value        int32
		err          string
	}{
		{"mine", "a class without the prefix system- belongs to a user", 1000, ""},
		{
			"system-node-critical", "the system's pods name it", 2000001000,
			`priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: this is a system priority class and cannot be deleted`,
		},
		{
			"system-cluster-critical", "the system's pods name it", 2000000000,
			`priorityclasses.scheduling.k8s.io "system-cluster-critical" is forbidden: this is a system priority class and cannot be deleted`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := registrytest.New(t, builtin.Table(), registry.Dependencies{})
			store := s.Store(schedulingv1.Resource("priorityclasses"))
			class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: test.name}, Value: test.value}
			if _, err := store.Create(s.Context, class, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			_, _, err := s.Storage(schedulingv1.Resource("priorityclasses"), "priorityclasses").(rest.GracefulDeleter).Delete(s.Context, test.name, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != test.err {
				t.Errorf("error %q, want %q: %s", got, test.err, test.reason)
			}
		})
	}
}

func TestPriorityClassErrors(t *testing.T) {
	t.Parallel()
	registrytest.CheckErrors(t, registrytest.Table(t, scheduling.Group), []registrytest.WriteCase{
		{
			Name: "system prefix", Reason: "only the classes of the system have the prefix system-",
			Object: &schedulingv1.PriorityClass{ObjectMeta: registrytest.ClusterStored("system-mine"), Value: 1},
			Want:   []string{"metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class"},
		},
	})
}

func TestPriorityClassGeneration(t *testing.T) {
	t.Parallel()
	registrytest.CheckGenerations(t, registrytest.Table(t, scheduling.Group), []registrytest.GenerationCase{
		{
			Name: "description", Reason: "the generation of a priority class stays 1",
			Object: &schedulingv1.PriorityClass{ObjectMeta: registrytest.Generation(1), Description: "new"},
			Old:    &schedulingv1.PriorityClass{ObjectMeta: registrytest.Generation(1)},
			Want:   1,
		},
	})
}
