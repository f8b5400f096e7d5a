package resource

import (
	"context"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// deviceTaintRuleKind is the row of devicetaintrules in the server's table of kinds.
var deviceTaintRuleKind = registry.Kind{
	Resource: "devicetaintrules",
	Object:   &resourcev1.DeviceTaintRule{}, List: &resourcev1.DeviceTaintRuleList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultDeviceTaintRule),
		registry.DefaultLike[resourcev1beta2.DeviceTaintRule](defaultDeviceTaintRule),
		registry.DefaultLike[resourcev1alpha3.DeviceTaintRule](defaultDeviceTaintRule),
	},
	Status:               true,
	StatusKeepsMetadata:  true,
	Generation:           true,
	ConditionalUpdate:    true,
	UnconditionalThrough: []schema.GroupVersion{resourcev1beta2.SchemeGroupVersion, resourcev1alpha3.SchemeGroupVersion},
	ReturnDeletedThrough: []schema.GroupVersion{resourcev1beta2.SchemeGroupVersion, resourcev1alpha3.SchemeGroupVersion},
	Printer:              &deviceTaintRuleColumns,
	Hooks: registry.HooksOf[*resourcev1.DeviceTaintRule]{
		PrepareForUpdate:     retaint,
		Validate:             validateDeviceTaintRule,
		ValidateUpdate:       validateDeviceTaintRuleUpdate,
		ValidateStatusUpdate: validateDeviceTaintRuleStatusUpdate,
	},
}

func defaultDeviceTaintRule(r *resourcev1.DeviceTaintRule) { taintedNow(&r.Spec.Taint.TimeAdded) }

// validateDeviceTaintRule checks a new DeviceTaintRule (KEP-5055).
func validateDeviceTaintRule(o *resourcev1.DeviceTaintRule) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSSubdomain)
	f.Merge(deviceTaintRuleSpec(&o.Spec))
	return f.Errs
}

func validateDeviceTaintRuleUpdate(o, old *resourcev1.DeviceTaintRule) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(deviceTaintRuleSpec(&o.Spec))
	return f.Errs
}

// validateDeviceTaintRuleStatusUpdate checks the status that a controller writes.
func validateDeviceTaintRuleStatusUpdate(o, old *resourcev1.DeviceTaintRule) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("status", "conditions")
	f.Merge(validation.Few(path, len(o.Status.Conditions), resourcev1.DeviceTaintRuleStatusMaxConditions),
		metav1validation.ValidateConditions(o.Status.Conditions, path))
	return f.Errs
}

func deviceTaintRuleSpec(spec *resourcev1.DeviceTaintRuleSpec) field.ErrorList {
	var f validation.Findings
	path := field.NewPath("spec")
	if s := spec.DeviceSelector; s != nil {
		path := path.Child("deviceSelector")
		for _, criterion := range []struct {
			name  string
			value *string
			check func(*field.Path, string) field.ErrorList
		}{{"driver", s.Driver, podvalidation.CSIDriverName}, {"pool", s.Pool, poolName}, {"device", s.Device, deviceName}} {
			if criterion.value != nil {
				f.Merge(criterion.check(path.Child(criterion.name), *criterion.value))
			}
		}
	}
	f.Merge(deviceTaint(path.Child("taint"), &spec.Taint))
	return f.Errs
}

// retaint sets the time of a taint to now, if the update changes its effect but not its time (KEP-5055).
func retaint(_ context.Context, r, old *resourcev1.DeviceTaintRule) {
	now, was := &r.Spec.Taint, &old.Spec.Taint
	if now.Effect != was.Effect && now.TimeAdded.Equal(was.TimeAdded) {
		now.TimeAdded = &metav1.Time{Time: time.Now().Truncate(time.Second)}
	}
}

// deviceTaintRuleColumns makes the rows of kubectl get. They show the taint.
var deviceTaintRuleColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Key", printers.Doc(resourcev1.DeviceTaint{}, "key")),
		printers.Text("Value", printers.Doc(resourcev1.DeviceTaint{}, "value")),
		printers.Text("Effect", printers.Doc(resourcev1.DeviceTaint{}, "effect")),
		printers.Text("TimeAdded", printers.Doc(resourcev1.DeviceTaint{}, "timeAdded")),
		printers.AgeColumn,
	},
	func(r *resourcev1.DeviceTaintRule) []any {
		t := &r.Spec.Taint
		added := ""
		if t.TimeAdded != nil {
			added = printers.Since(*t.TimeAdded)
		}
		return []any{r.Name, t.Key, t.Value, string(t.Effect), added, printers.Since(r.CreationTimestamp)}
	})
