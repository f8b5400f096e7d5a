package printers

import (
	"fmt"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
)

// APIService is shown by who serves it.
var APIService = Of(
	[]Column{
		NameColumn,
		Text("Service", "The reference to the service that hosts this API endpoint."),
		Text("Available", "Whether this service is available."),
		AgeColumn,
	},
	func(s *apiregistrationv1.APIService) []any {
		service := "Local"
		if s.Spec.Service != nil {
			service = s.Spec.Service.Namespace + "/" + s.Spec.Service.Name
		}
		return []any{s.Name, service, availability(s), Since(s.CreationTimestamp)}
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
