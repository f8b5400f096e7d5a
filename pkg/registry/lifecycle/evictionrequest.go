package lifecycle

import (
	"fmt"

	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// evictionRequestKind is the row of evictionrequests in the server's table of kinds.
var evictionRequestKind = registry.Kind{
	Resource:   "evictionrequests",
	Namespaced: true,
	Feature:    "EvictionRequestAPI",
	Object:     &lifecyclev1alpha1.EvictionRequest{}, List: &lifecyclev1alpha1.EvictionRequestList{},
	Status:              true,
	StatusKeepsMetadata: true,
	Generation:          true,
	ConditionalUpdate:   true,
	Printer:             &evictionRequestColumns,
	Hooks: registry.HooksOf[*lifecyclev1alpha1.EvictionRequest]{
		Validate:             validateEvictionRequest,
		ValidateUpdate:       validateEvictionRequestUpdate,
		ValidateStatusUpdate: validateEvictionRequestStatusUpdate,
	},
}

func validateEvictionRequest(o *lifecyclev1alpha1.EvictionRequest) field.ErrorList {
	return validation.CreatedNamed(&o.ObjectMeta, validation.Namespaced).Errs
}

func validateEvictionRequestUpdate(o, old *lifecyclev1alpha1.EvictionRequest) field.ErrorList {
	return validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs
}

func validateEvictionRequestStatusUpdate(o, old *lifecyclev1alpha1.EvictionRequest) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(metav1validation.ValidateConditions(o.Status.Conditions, validation.StatusPath.Child("conditions")))
	return f.Errs
}

var evictionRequestColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Target", printers.Doc(lifecyclev1alpha1.EvictionRequestSpec{}, "target")),
		printers.Text("Target Type", printers.Doc(lifecyclev1alpha1.EvictionRequestSpec{}, "target")),
		printers.Text("Status", printers.Doc(lifecyclev1alpha1.EvictionRequestStatus{}, "conditions")),
		printers.Text("Requester", printers.Doc(lifecyclev1alpha1.EvictionRequestSpec{}, "requester")),
		printers.Text("Intent", printers.Doc(lifecyclev1alpha1.EvictionRequestSpec{}, "intent")),
		printers.AgeColumn,
	},
	func(r *lifecyclev1alpha1.EvictionRequest) []any {
		target, targetType := unset, unset
		if pod := r.Spec.Target.Pod; pod != nil {
			target, targetType = pod.Name, "Pod"
		}
		return []any{
			r.Name, target, targetType, state(r.Status.ObservedGeneration, r.Status.Conditions),
			r.Spec.Requester, string(r.Spec.Intent), printers.Since(r.CreationTimestamp),
		}
	})

// unset is the text of a cell without a value.
const unset = "<unset>"

// state returns the state of an eviction or of a request for one. A successful eviction counts more than a failed one.
func state(observed *int64, conditions []metav1.Condition) string {
	for _, name := range []lifecyclev1alpha1.EvictionConditionType{lifecyclev1alpha1.EvictionConditionTargetEvicted, lifecyclev1alpha1.EvictionConditionFailed} {
		if c := meta.FindStatusCondition(conditions, string(name)); c != nil && c.Status == metav1.ConditionTrue {
			return fmt.Sprintf("%s (%s)", c.Type, c.Reason)
		}
	}
	if ptr.Deref(observed, 0) > 0 {
		return "Progressing"
	}
	return "Pending"
}
