package apps

import (
	"cmp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.AddIf(isNoData(&o.Data), field.Required(field.NewPath("data"), "data is mandatory"))
	f.Merge(validation.Nonnegative(field.NewPath("revision"), o.Revision))
	return f.Errs
}

func validateControllerRevisionUpdate(o, old *appsv1.ControllerRevision) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(validateControllerRevision(o), validation.Unchanged(field.NewPath("data"), o.Data, old.Data))
	return f.Errs
}

func isNoData(data *runtime.RawExtension) bool { return data.Object == nil && len(data.Raw) == 0 }

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
