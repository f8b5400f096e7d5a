package validation

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/validation"
)

// APIService checks a new APIService, by kube-aggregator's own rules.
func APIService(s *apiregistrationv1.APIService) field.ErrorList {
	internal, err := internalAPIService(s)
	if err != nil {
		return field.ErrorList{err}
	}
	return validation.ValidateAPIService(context.Background(), internal)
}

// APIServiceUpdate checks a changed APIService.
func APIServiceUpdate(s, old *apiregistrationv1.APIService) field.ErrorList {
	return updateOfAPIService(s, old, validation.ValidateAPIServiceUpdate)
}

// APIServiceStatusUpdate checks a changed status.
func APIServiceStatusUpdate(s, old *apiregistrationv1.APIService) field.ErrorList {
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

// internalAPIService is an APIService as kube-aggregator's rules know it. The copy is theirs: the two
// share what they point to otherwise.
func internalAPIService(s *apiregistrationv1.APIService) (*apiregistration.APIService, *field.Error) {
	internal := &apiregistration.APIService{}
	if err := apiregistrationv1.Convert_v1_APIService_To_apiregistration_APIService(s.DeepCopy(), internal, nil); err != nil {
		return nil, field.InternalError(field.NewPath("spec"), err)
	}
	return internal, nil
}
