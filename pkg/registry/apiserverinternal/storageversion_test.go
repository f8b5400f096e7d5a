package apiserverinternal

import (
	"testing"

	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestStorageVersion(t *testing.T) {
	t.Parallel()
	type server = apiserverinternalv1alpha1.ServerStorageVersion
	named := func(name string) *apiserverinternalv1alpha1.StorageVersion {
		return &apiserverinternalv1alpha1.StorageVersion{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	of := func(common *string, servers ...server) *apiserverinternalv1alpha1.StorageVersion {
		return &apiserverinternalv1alpha1.StorageVersion{
			ObjectMeta: registrytest.ClusterStored("apps.deployments"),
			Status:     apiserverinternalv1alpha1.StorageVersionStatus{StorageVersions: servers, CommonEncodingVersion: common},
		}
	}
	good := server{APIServerID: "a", EncodingVersion: "apps/v1", DecodableVersions: []string{"apps/v1"}}
	old := of(nil)
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{Name: "name", Reason: "the name is GROUP.RESOURCE", Object: named("apps.deployments")},
		{Name: "no group", Reason: "a resource needs its group", Object: named("deployments"),
			Want: []string{`metadata.name: Invalid value: "deployments": name must be in the form of <group>.<resource>`}},
		{Name: "one server", Reason: "the common version is that of the server", Status: true, Old: old,
			Object: of(ptr.To("apps/v1"), good)},
		{Name: "no common version", Reason: "all servers encode the same version", Status: true, Old: old, Object: of(nil, good),
			Want: []string{"status.commonEncodingVersion: Invalid value: null: the common encoding version is apps/v1"}},
		{Name: "same server", Reason: "a server has one entry", Status: true, Old: old, Object: of(ptr.To("apps/v1"), good, good),
			Want: []string{`status.storageVersions[1].apiServerID: Duplicate value: "a"`}},
		{Name: "unknown version", Reason: "a server can decode what it encodes", Status: true, Old: old,
			Object: of(ptr.To("apps/v1"), server{APIServerID: "a", EncodingVersion: "apps/v1"}),
			Want:   []string{"status.storageVersions[0].decodableVersions: Invalid value: null: decodableVersions must include encodingVersion apps/v1"}},
	})
}
