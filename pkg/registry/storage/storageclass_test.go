package storage

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestStorageClassColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "default class", Reason: "the name has the mark of a default class, and missing fields have the defaults of the API",
			Object: &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "x", CreationTimestamp: registrytest.MonthAgo(), Annotations: map[string]string{"storageclass.beta.kubernetes.io/is-default-class": "true"}},
				Provisioner: "p"},
			Want: []any{"x (default)", "p", "Delete", "Immediate", false, "30d"},
		},
	})
}

func TestStorageClassWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "old node label", Reason: "the path ends with the key, so the warning doesn't repeat the label",
			Object: &storagev1.StorageClass{AllowedTopologies: []corev1.TopologySelectorTerm{
				{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "beta.kubernetes.io/os"}}},
			}},
			Want: []string{`allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.14; use "kubernetes.io/os" instead`},
		},
	})
}

func TestStorageClassErrors(t *testing.T) {
	t.Parallel()
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "update", Reason: "the fields that say how volumes are made can't change",
			Object: &storagev1.StorageClass{ObjectMeta: registrytest.ClusterStored("c"), Provisioner: "a", VolumeBindingMode: ptr.To(storagev1.VolumeBindingImmediate),
				Parameters: map[string]string{"k": "v"}, ReclaimPolicy: ptr.To(corev1.PersistentVolumeReclaimRetain)},
			Old: &storagev1.StorageClass{ObjectMeta: registrytest.ClusterStored("c"), Provisioner: "b",
				VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)},
			Want: []string{
				"provisioner: Invalid value: null: field is immutable",
				"parameters: Invalid value: null: field is immutable",
				"reclaimPolicy: Invalid value: null: field is immutable",
				"volumeBindingMode: Invalid value: null: field is immutable",
			},
		},
		{
			Name: "topology without expressions", Reason: "kube-apiserver refuses it as a duplicate, by the same comparison",
			Object: &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Provisioner: "a", VolumeBindingMode: ptr.To(storagev1.VolumeBindingImmediate),
				AllowedTopologies: []corev1.TopologySelectorTerm{{}}},
			Want: []string{`allowedTopologies[0].matchLabelExpressions: Duplicate value: ""`},
		},
	})
}
