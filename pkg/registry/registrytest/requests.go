package registrytest

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// Through returns the context of a request through a group version. The namespace is "ns".
func Through(gv schema.GroupVersion) context.Context {
	ctx := genericapirequest.WithNamespace(context.Background(), "ns")
	return genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{IsResourceRequest: true, APIGroup: gv.Group, APIVersion: gv.Version})
}
