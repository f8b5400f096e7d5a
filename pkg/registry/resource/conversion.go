package resource

import (
	resourceconversion "k8s.io/dynamic-resource-allocation/api/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
)

// conversions convert fields that are at another depth in v1beta1. In v1, the fields of a single request are under
// "exactly". In v1beta1, the fields of a device are under "basic".
//
// The imported package also adds its functions to resourcev1beta1.SchemeBuilder, for the whole process. In the scheme
// of the table, the functions of the table take precedence.
func conversions() []conversion.Function {
	return []conversion.Function{
		conversion.Generated(resourceconversion.Convert_v1beta1_ResourceClaim_To_v1_ResourceClaim),
		conversion.Generated(resourceconversion.Convert_v1_ResourceClaim_To_v1beta1_ResourceClaim),
		conversion.Generated(resourceconversion.Convert_v1beta1_ResourceClaimTemplate_To_v1_ResourceClaimTemplate),
		conversion.Generated(resourceconversion.Convert_v1_ResourceClaimTemplate_To_v1beta1_ResourceClaimTemplate),
		conversion.Generated(resourceconversion.Convert_v1beta1_ResourceSlice_To_v1_ResourceSlice),
		conversion.Generated(resourceconversion.Convert_v1_ResourceSlice_To_v1beta1_ResourceSlice),
	}
}
