package registry

import (
	"context"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// apiregistration is which group versions there are, and which servers serve them.
var apiregistration = Group{
	Name: apiregistrationv1.GroupName,
	Versions: []Version{
		{Name: "v1", AddToScheme: apiregistrationv1.AddToScheme},
	},
	Priority: 20001,
	Kinds: []Kind{
		{
			Resource:   "apiservices",
			Categories: []string{"api-extensions"},
			Object:     &apiregistrationv1.APIService{}, List: &apiregistrationv1.APIServiceList{},
			StoragePrefix:       apiregistrationv1.GroupName + "/apiservices",
			Status:              true,
			StatusKeepsMetadata: true,
			ConditionalUpdate:   true,
			Printer:             &printers.APIService,
			Hooks: HooksOf[*apiregistrationv1.APIService]{
				PrepareForCreate:     prepareAPIService,
				PrepareForUpdate:     func(ctx context.Context, s, _ *apiregistrationv1.APIService) { prepareAPIService(ctx, s) },
				Validate:             validation.APIService,
				ValidateUpdate:       validation.APIServiceUpdate,
				ValidateStatusUpdate: validation.APIServiceStatusUpdate,
			},
		},
	},
}

// prepareAPIService says of what this server serves itself that it is available: nobody looks after it.
func prepareAPIService(_ context.Context, s *apiregistrationv1.APIService) {
	if s.Spec.Service == nil {
		helper.SetAPIServiceCondition(s, helper.NewLocalAvailableAPIServiceCondition())
	}
}
