package registry

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// row is a row of the table.
func row(t *testing.T, group, resource string) *Kind {
	t.Helper()
	if k := Builtin().Row(schema.GroupResource{Group: group, Resource: resource}); k != nil {
		return k
	}
	t.Fatalf("there is no row for %s.%s", resource, group)
	return nil
}

// through is the context of a request through a group version.
func through(gv schema.GroupVersion) context.Context {
	ctx := genericapirequest.WithNamespace(context.Background(), "ns")
	return genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{IsResourceRequest: true, APIGroup: gv.Group, APIVersion: gv.Version})
}
