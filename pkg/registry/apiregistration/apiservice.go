package apiregistration

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/validation"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// apiServiceKind is the row of apiservices in the server's table of kinds.
var apiServiceKind = registry.Kind{
	Resource:   "apiservices",
	Categories: []string{"api-extensions"},
	Object:     &apiregistrationv1.APIService{}, List: &apiregistrationv1.APIServiceList{},
	StoragePrefix:       apiregistrationv1.GroupName + "/apiservices",
	StoredInJSON:        true, // as kube-aggregator stores it
	Status:              true,
	StatusKeepsMetadata: true,
	ConditionalUpdate:   true,
	Printer:             &apiServiceColumns,
	Hooks: registry.HooksOf[*apiregistrationv1.APIService]{
		PrepareForCreate:     prepareAPIService,
		PrepareForUpdate:     func(ctx context.Context, s, _ *apiregistrationv1.APIService) { prepareAPIService(ctx, s) },
		Validate:             validateAPIService,
		ValidateUpdate:       validateAPIServiceUpdate,
		ValidateStatusUpdate: validateAPIServiceStatusUpdate,
	},
}

// validateAPIService checks a new APIService, by kube-aggregator's own rules.
func validateAPIService(s *apiregistrationv1.APIService) field.ErrorList {
	internal, err := internalAPIService(s)
	if err != nil {
		return field.ErrorList{err}
	}
	return validation.ValidateAPIService(context.Background(), internal)
}

func validateAPIServiceUpdate(s, old *apiregistrationv1.APIService) field.ErrorList {
	return updateOfAPIService(s, old, validation.ValidateAPIServiceUpdate)
}

func validateAPIServiceStatusUpdate(s, old *apiregistrationv1.APIService) field.ErrorList {
	return updateOfAPIService(s, old, validation.ValidateAPIServiceStatusUpdate)
}

func updateOfAPIService(s, old *apiregistrationv1.APIService,
	check func(context.Context, *apiregistration.APIService, *apiregistration.APIService) field.ErrorList) field.ErrorList {
	internal, err := internalAPIService(s)
	if err != nil {
		return field.ErrorList{err}
	}
	oldInternal, err := internalAPIService(old)
	if err != nil {
		return field.ErrorList{err}
	}
	return check(context.Background(), internal, oldInternal)
}

// internalAPIService converts an APIService to the internal type, for kube-aggregator's validation. It converts a
// copy, because the result shares pointers with its original.
func internalAPIService(s *apiregistrationv1.APIService) (*apiregistration.APIService, *field.Error) {
	internal := &apiregistration.APIService{}
	if err := apiregistrationv1.Convert_v1_APIService_To_apiregistration_APIService(s.DeepCopy(), internal, nil); err != nil {
		return nil, field.InternalError(field.NewPath("spec"), err)
	}
	return internal, nil
}

// prepareAPIService marks an APIService without a service as available. This server serves the group version
// itself, so no controller would set the condition.
func prepareAPIService(_ context.Context, s *apiregistrationv1.APIService) {
	if s.Spec.Service == nil {
		helper.SetAPIServiceCondition(s, helper.NewLocalAvailableAPIServiceCondition())
	}
}

// apiServiceColumns makes the rows of kubectl get. They show the service behind the group version.
var apiServiceColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Service", "The reference to the service that hosts this API endpoint."),
		printers.Text("Available", "Whether this service is available."),
		printers.AgeColumn,
	},
	func(s *apiregistrationv1.APIService) []any {
		service := "Local"
		if s.Spec.Service != nil {
			service = s.Spec.Service.Namespace + "/" + s.Spec.Service.Name
		}
		return []any{s.Name, service, availability(s), printers.Since(s.CreationTimestamp)}
	})

func availability(s *apiregistrationv1.APIService) string {
	condition := helper.GetAPIServiceConditionByType(s, apiregistrationv1.Available)
	switch {
	case condition == nil:
		return string(apiregistrationv1.ConditionUnknown)
	case condition.Status == apiregistrationv1.ConditionTrue || condition.Reason == "":
		return string(condition.Status)
	}
	return fmt.Sprintf("%s (%s)", condition.Status, condition.Reason)
}
