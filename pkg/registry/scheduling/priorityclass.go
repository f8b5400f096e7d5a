package scheduling

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// priorityClassKind is the row of priorityclasses in the server's table of kinds.
var priorityClassKind = registry.Kind{
	Resource:   "priorityclasses",
	ShortNames: []string{"pc"},
	Object:     &schedulingv1.PriorityClass{}, List: &schedulingv1.PriorityClassList{},
	Defaults: []registry.Default{registry.DefaultOf(defaultPriorityClass),
		registry.DefaultLike[schedulingv1beta1.PriorityClass](defaultPriorityClass)},
	Generation: true,
	Printer:    &priorityClassColumns,
	Storage:    newPriorityClassStorage,
	Hooks: registry.HooksOf[*schedulingv1.PriorityClass]{
		// The generation of a class is always 1.
		SpecChanged:    func(_, _ *schedulingv1.PriorityClass) bool { return false },
		Validate:       validatePriorityClass,
		ValidateUpdate: validatePriorityClassUpdate,
	},
}

func defaultPriorityClass(c *schedulingv1.PriorityClass) {
	defaults.Pointer(&c.PreemptionPolicy, corev1.PreemptLowerPriority)
}

const (
	systemPriorityPrefix = "system-"
	maxUserPriority      = 1_000_000_000
)

// systemPriorities maps the names of the system's PriorityClasses, which every cluster has, to their values.
var systemPriorities = map[string]int32{
	"system-cluster-critical": 2 * maxUserPriority,
	"system-node-critical":    2*maxUserPriority + 1000,
}

// isSystemPriorityClass reports whether name is system-cluster-critical or system-node-critical.
func isSystemPriorityClass(name string) bool {
	_, ok := systemPriorities[name]
	return ok
}

// validatePriorityClass checks a new PriorityClass (KEP-268).
func validatePriorityClass(o *schedulingv1.PriorityClass) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSSubdomain)
	if strings.HasPrefix(o.Name, systemPriorityPrefix) {
		if msg := systemPriority(o); msg != "" {
			f.Add(field.Forbidden(validation.MetadataPath.Child("name"),
				"priority class names with 'system-' prefix are reserved for system use only. error: "+msg))
		}
	} else {
		f.AddIf(o.Value > maxUserPriority, field.Forbidden(field.NewPath("value"),
			fmt.Sprintf("maximum allowed value of a user defined priority is %v", maxUserPriority)))
	}
	if o.PreemptionPolicy != nil {
		f.Merge(validation.RequiredOneOf(field.NewPath("preemptionPolicy"), *o.PreemptionPolicy,
			corev1.PreemptLowerPriority, corev1.PreemptNever))
	}
	return f.Errs
}

// validatePriorityClassUpdate checks an update of a PriorityClass. The value and the preemptionPolicy can't change.
func validatePriorityClassUpdate(o, old *schedulingv1.PriorityClass) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.AddIf(o.Value != old.Value, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
	f.Merge(validation.Unchanged(field.NewPath("preemptionPolicy"), o.PreemptionPolicy, old.PreemptionPolicy))
	return f.Errs
}

func systemPriority(o *schedulingv1.PriorityClass) string {
	value, ok := systemPriorities[o.Name]
	switch {
	case !ok:
		return o.Name + " is not a known system priority class"
	case o.Value != value:
		return fmt.Sprintf("value of %v PriorityClass must be %v", o.Name, value)
	case o.GlobalDefault:
		return fmt.Sprintf("globalDefault of %v PriorityClass must be %v", o.Name, false)
	}
	return ""
}

// priorityClassStorage is the storage of PriorityClasses. A request to delete a single PriorityClass of the system is
// refused (KEP-268). A deletecollection can delete the PriorityClasses of the system, but the next start of the server
// makes them again.
type priorityClassStorage struct{ *registry.Storage }

var _ rest.StandardStorage = &priorityClassStorage{}

func newPriorityClassStorage(main *registry.Storage, _ registry.Dependencies) (rest.Storage, error) {
	return &priorityClassStorage{main}, nil
}

// Delete deletes a PriorityClass. It refuses to delete system-cluster-critical and system-node-critical.
func (p *priorityClassStorage) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	if isSystemPriorityClass(name) {
		return nil, false, apierrors.NewForbidden(schedulingv1.Resource("priorityclasses"), name,
			errors.New("this is a system priority class and cannot be deleted"))
	}
	return p.Storage.Delete(ctx, name, validate, options)
}

var priorityClassColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Number("Value", printers.Doc(schedulingv1.PriorityClass{}, "value")),
		printers.Boolean("Global-Default", printers.Doc(schedulingv1.PriorityClass{}, "globalDefault")),
		printers.AgeColumn,
		printers.Text("PreemptionPolicy", printers.Doc(schedulingv1.PriorityClass{}, "preemptionPolicy")),
	},
	func(c *schedulingv1.PriorityClass) []any {
		return []any{
			c.Name, int64(c.Value), c.GlobalDefault, printers.Since(c.CreationTimestamp), string(ptr.Deref(c.PreemptionPolicy, "")),
		}
	})
