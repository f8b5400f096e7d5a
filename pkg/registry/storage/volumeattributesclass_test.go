package storage

import (
	"testing"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestVolumeAttributesClassErrors(t *testing.T) {
	t.Parallel()
	class := func(driver string, parameters map[string]string) *storagev1.VolumeAttributesClass {
		return &storagev1.VolumeAttributesClass{ObjectMeta: registrytest.ClusterStored("c"), DriverName: driver, Parameters: parameters}
	}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "update", Reason: "the errors about changes come before those about the new values",
			Object: class("d.e", nil), Old: class("e.f", map[string]string{"k": "v"}),
			Want: []string{
				"driverName: Forbidden: updates to driverName are forbidden.",
				"parameters: Forbidden: updates to parameters are forbidden.",
				"parameters: Required value: must contain at least one key/value pair",
			},
		},
	})
}

func TestVolumeAttributesClassColumns(t *testing.T) {
	t.Parallel()
	class := &storagev1.VolumeAttributesClass{ObjectMeta: registrytest.MonthOld("x"), DriverName: "d.e"}
	class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true", "volumeattributesclass.alpha.kubernetes.io/is-default-class": "true"}
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{Name: "default class", Reason: "only the name of a StorageClass has the mark", Object: class, Want: []any{"x", "d.e", "30d"}},
	})
}
