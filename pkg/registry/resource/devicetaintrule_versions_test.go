package resource_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	serverstorage "k8s.io/apiserver/pkg/server/storage"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
	"github.com/miniapi-dev/miniapi/pkg/registry/resource"
)

// TestDeviceTaintRuleVersions checks what v1 changed: an update names the resourceVersion, and a deletion returns a Status.
func TestDeviceTaintRuleVersions(t *testing.T) {
	t.Parallel()
	table := registrytest.Table(t, resource.Group)
	apis := serverstorage.NewResourceConfig()
	for _, v := range resource.Group.Versions {
		apis.EnableVersions(schema.GroupVersion{Group: resource.Group.Name, Version: v.Name})
	}
	groups, err := table.Build(apis, registry.Dependencies{RESTOptions: registrytest.RESTOptions(registrytest.Start(t), table)})
	if err != nil {
		t.Fatal(err)
	}
	for version, legacy := range map[string]bool{"v1": false, "v1beta2": true, "v1alpha3": true} {
		storage := groups[0].Storage[version]["devicetaintrules"]
		if got := storage.(rest.MayReturnFullObjectDeleter).DeleteReturnsDeletedObject(); got != legacy {
			t.Errorf("a deletion through %s returns the object: %t, want %t", version, got, legacy)
		}
		ctx := registrytest.Through(schema.GroupVersion{Group: resource.Group.Name, Version: version})
		if got := storage.(*registry.Storage).Strategy.AllowUnconditionalUpdate(ctx); got != legacy {
			t.Errorf("an update through %s needs no resourceVersion: %t, want %t", version, got, legacy)
		}
	}
}
