package coordination

import (
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// leaseStrategy checks the strategy of a coordinated leader election (KEP-4355). The name of a custom strategy must
// have a domain. As in kube-apiserver, the path in an error has the name of the field twice.
func leaseStrategy(path *field.Path, strategy coordinationv1.CoordinatedLeaseStrategy) field.ErrorList {
	path = path.Child("strategy")
	if strings.Contains(string(strategy), "/") {
		return validation.Qualified(path, string(strategy))
	}
	return validation.OneOf(path, strategy, coordinationv1.OldestEmulationVersion)
}
