package storage

import (
	"strings"
	"testing"

	storagev1 "k8s.io/api/storage/v1"

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
	})
}

func TestCSINodeCreation(t *testing.T) {
	t.Parallel()
	registrytest.CheckPrepared(t, registrytest.Table(t, Group), []registrytest.PrepareCase{
		{
			Name: "storage health", Reason: "the health of storage is status, and the server ignores the status of the request",
			Object: &storagev1.CSINode{Status: storagev1.CSINodeStatus{StorageHealth: []storagev1.StorageHealth{{Name: "d.e"}}}}, Want: &storagev1.CSINode{},
		},
	})
}
