package storage

import (
	"testing"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestCSINodeCreation(t *testing.T) {
	t.Parallel()
	registrytest.CheckPrepared(t, registrytest.Table(t, Group), []registrytest.PrepareCase{
		{
			Name: "storage health", Reason: "the health of storage is status, and the server ignores the status of the request",
			Object: &storagev1.CSINode{Status: storagev1.CSINodeStatus{StorageHealth: []storagev1.StorageHealth{{Name: "d.e"}}}}, Want: &storagev1.CSINode{},
		},
	})
}
