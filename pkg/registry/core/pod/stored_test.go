package pod_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/core/connect"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// stored has the storages of pods and disruption budgets, on an etcd of its own.
type stored struct {
	registrytest.Stores
	t *testing.T
}

func newStored(t *testing.T) stored {
	t.Helper()
	return stored{registrytest.New(t, builtin.Table(), registry.Dependencies{}), t}
}

func (s stored) pod(name string) (*corev1.Pod, error) {
	return connect.GetPod(s.Context, s.Store(corev1.Resource("pods")), name)
}

func (s stored) budget(name string) *policyv1.PodDisruptionBudget {
	s.t.Helper()
	obj, err := s.Store(policyv1.Resource("poddisruptionbudgets")).Get(s.Context, name, &metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return obj.(*policyv1.PodDisruptionBudget)
}

// subresource returns the storage of a subresource of pods.
func (s stored) subresource(name string) rest.Storage {
	s.t.Helper()
	return s.Storage(corev1.Resource("pods"), "pods/"+name)
}
