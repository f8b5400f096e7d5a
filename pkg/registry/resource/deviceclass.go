package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// deviceClassKind is the row of deviceclasses in the server's table of kinds.
var deviceClassKind = registry.Kind{
	Resource: "deviceclasses",
	Object:   &resourcev1.DeviceClass{}, List: &resourcev1.DeviceClassList{},
	Generation:    true,
	ReturnDeleted: true,
	Printer:       &deviceClassColumns,
	Hooks: registry.HooksOf[*resourcev1.DeviceClass]{
		Validate:       validateDeviceClass,
		ValidateUpdate: validateDeviceClassUpdate,
	},
	Gated: []registry.Gate{registry.GateOf[resourcev1.DeviceClass]("DRAExtendedResource", "Spec.ExtendedResourceName")},
}

// validateDeviceClass checks a new DeviceClass (KEP-4381).
func validateDeviceClass(o *resourcev1.DeviceClass) field.ErrorList {
	f := validation.CreatedNamed(&o.ObjectMeta, validation.ClusterScoped)
	f.Merge(deviceClassSpec(&o.Spec, nil))
	return f.Errs
}

func validateDeviceClassUpdate(o, old *resourcev1.DeviceClass) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(deviceClassSpec(&o.Spec, &old.Spec))
	return f.Errs
}

// deviceClassSpec checks the spec of a DeviceClass. If an update keeps the selectors, their expressions may use
// features of the newer server that has stored them.
func deviceClassSpec(spec, old *resourcev1.DeviceClassSpec) field.ErrorList {
	path := field.NewPath("spec")
	stored := old != nil && apiequality.Semantic.DeepEqual(spec.Selectors, old.Selectors)
	f := validation.Findings{Errs: deviceSelectors(path.Child("selectors"), spec.Selectors, stored)}
	for i, c := range validation.Within(spec.Config, resourcev1.DeviceConfigMaxSize) {
		f.Merge(deviceConfiguration(path.Child("config").Index(i), &c.DeviceConfiguration))
	}
	return f.Errs
}

var deviceClassColumns = printers.NameAndAge[resourcev1.DeviceClass]()
