package apps

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// controllerRevisionKind is the row of controllerrevisions in the server's table of kinds.
var controllerRevisionKind = registry.Kind{
	Resource:   "controllerrevisions",
	Namespaced: true,
	Object:     &appsv1.ControllerRevision{}, List: &appsv1.ControllerRevisionList{},
	Printer: &controllerRevisionColumns,
	Hooks: registry.HooksOf[*appsv1.ControllerRevision]{
		Validate:       validateControllerRevision,
		ValidateUpdate: validateControllerRevisionUpdate,
	},
}

func validateControllerRevision(o *appsv1.ControllerRevision) field.ErrorList {
	return append(revisionNumber(o), revisionData(field.NewPath("data"), o.Data.Raw)...)
}

func revisionNumber(o *appsv1.ControllerRevision) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(validation.Nonnegative(field.NewPath("revision"), o.Revision))
	return f.Errs
}

// revisionData checks that the data of a new revision is a JSON object.
func revisionData(path *field.Path, data []byte) field.ErrorList {
	var f validation.Findings
	var value any
	if data != nil {
		if err := json.Unmarshal(data, &value); err != nil {
			return field.ErrorList{field.Invalid(path, "<value omitted>", fmt.Sprintf("error parsing data: %v", err))}
		}
	}
	_, isObject := value.(map[string]any)
	f.AddIf(value == nil, field.Required(path, "data is mandatory"))
	f.AddIf(value != nil && !isObject, field.Required(path, "data must be a valid JSON object"))
	return f.Errs
}

func validateControllerRevisionUpdate(o, old *appsv1.ControllerRevision) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(revisionNumber(o), validation.Unchanged(field.NewPath("data"), o.Data, old.Data))
	return f.Errs
}

// controllerRevisionColumns makes the rows of kubectl get. They show the revision's owner and number.
var controllerRevisionColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Controller", "Controller of the object"),
		printers.Text("Revision", printers.Doc(appsv1.ControllerRevision{}, "revision")),
		printers.AgeColumn,
	},
	func(r *appsv1.ControllerRevision) []any {
		controller := ""
		if owner := metav1.GetControllerOf(r); owner != nil {
			kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
			controller = strings.ToLower(kind.String()) + "/" + owner.Name
		}
		return []any{r.Name, cmp.Or(controller, printers.None), r.Revision, printers.Since(r.CreationTimestamp)}
	})
