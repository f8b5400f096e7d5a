package storage

import (
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

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

func TestCSIStorageCapacityErrors(t *testing.T) {
	t.Parallel()
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "negative", Reason: "kube-apiserver checks the capacity, but not the size of the largest volume",
			Object: &storagev1.CSIStorageCapacity{ObjectMeta: registrytest.Stored("c"), StorageClassName: "c",
				Capacity: ptr.To(resource.MustParse("-1")), MaximumVolumeSize: ptr.To(resource.MustParse("-1"))},
			Want: []string{`capacity: Invalid value: "-1": must be greater than or equal to 0`},
		},
	})
}
