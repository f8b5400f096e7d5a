package storage

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestCSINodeErrors(t *testing.T) {
	t.Parallel()
	node := func(id string, keys ...string) *storagev1.CSINode {
		return &storagev1.CSINode{ObjectMeta: registrytest.ClusterStored("n"),
			Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "d.e", NodeID: id, TopologyKeys: keys}}}}
	}
	long := strings.Repeat("x", 256)
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{Name: "long id", Reason: "CSI limits the id of a node to 256 bytes", Object: node(long)},
		{
			Name: "longer id", Reason: "CSI limits the id of a node to 256 bytes", Object: node(long + "x"),
			Want: []string{`spec.drivers[0].nodeID: Invalid value: "` + long + `x": must be 256 characters or less`},
		},
		{
			Name: "topology keys", Reason: "each key is a label", Object: node("i", "zone", "zone", ""),
			Want: []string{
				`spec.drivers[0]: Duplicate value: "zone"`,
				"spec.drivers[0]: Required value",
				`spec.drivers[0]: Invalid value: "": name part must be non-empty`,
				`spec.drivers[0]: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character ` +
					`(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
			},
		},
		{
			Name: "another id", Reason: "a driver keeps its id on the node", Object: node("i"), Old: node("j"),
			Want: []string{`spec.drivers: Invalid value: {"Name":"d.e","NodeID":"i","TopologyKeys":null,"Allocatable":null}: field is immutable`},
		},
		{
			Name: "health", Reason: "a driver reports known conditions, and each driver once", Status: true, Old: node("i"),
			Object: func() *storagev1.CSINode {
				n := node("i")
				bad := storagev1.StorageHealthCondition{Status: "Broken", Reason: "no reason", AccessMode: ptr.To(corev1.PersistentVolumeAccessMode("All"))}
				n.Status.StorageHealth = []storagev1.StorageHealth{{Name: "d.e", HealthConditions: []storagev1.StorageHealthCondition{bad}}, {Name: "d.e"}}
				return n
			}(),
			Want: []string{
				`status.storageHealth[0].healthConditions[0].status: Unsupported value: "Broken": supported values: "StorageDegraded", "StorageUnreachable"`,
				`status.storageHealth[0].healthConditions[0].reason: Invalid value: "no reason": a condition reason must start with alphabetic character, ` +
					`optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' ` +
					`(e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')`,
				`status.storageHealth[0].healthConditions[0].accessMode: Unsupported value: "All": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`,
				`status.storageHealth[1]: Duplicate value: "d.e"`,
			},
		},
	})
}

func TestCSINodeCreation(t *testing.T) {
	t.Parallel()
	registrytest.CheckPrepared(t, registrytest.Table(t, Group), []registrytest.PrepareCase{
		{
			Name: "storage health", Reason: "the health of storage is status, and the server ignores the status of the request",
			Object: &storagev1.CSINode{Status: storagev1.CSINodeStatus{StorageHealth: []storagev1.StorageHealth{{Name: "d.e"}}}},
			Want:   &storagev1.CSINode{},
		},
	})
}
