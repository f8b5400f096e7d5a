package storage

import (
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestCSIStorageCapacityWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "old node label", Reason: "the node topology is a label selector",
			Object: &storagev1.CSIStorageCapacity{NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{"beta.kubernetes.io/os": "linux"}}},
			Want:   []string{`nodeTopology.matchLabels.beta.kubernetes.io/os: deprecated since v1.14; use "kubernetes.io/os" instead`},
		},
	})
}
