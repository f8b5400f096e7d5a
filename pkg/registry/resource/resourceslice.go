package resource

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	semver "github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// resourceSliceKind is the row of resourceslices in the server's table of kinds.
var resourceSliceKind = registry.Kind{
	Resource: "resourceslices",
	Object:   &resourcev1.ResourceSlice{}, List: &resourcev1.ResourceSliceList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultResourceSlice),
		registry.DefaultLike[resourcev1beta2.ResourceSlice](defaultResourceSlice),
		registry.DefaultOf(defaultResourceSliceV1beta1),
	},
	Generation:    true,
	ReturnDeleted: true,
	Printer:       &resourceSliceColumns,
	Hooks: registry.HooksOf[*resourcev1.ResourceSlice]{
		Validate:       validateResourceSlice,
		ValidateUpdate: validateResourceSliceUpdate,
		Warnings:       resourceSliceWarnings,
	},
	Fields: resourceSliceFields,
	Gated: []registry.Gate{
		registry.GateOf[resourcev1.ResourceSlice]("DRADeviceTaints", "Spec.Devices.Taints"),
		registry.GateOf[resourcev1.ResourceSlice]("DRAPartitionableDevices", "Spec.SharedCounters", "Spec.PerDeviceNodeSelection",
			"Spec.Devices.ConsumesCounters", "Spec.Devices.NodeName", "Spec.Devices.NodeSelector", "Spec.Devices.AllNodes"),
		registry.GateOf[resourcev1.ResourceSlice]("DRAPartitionableDevicesType", "Spec.PartitionTypeAttribute"),
		registry.GateOf[resourcev1.ResourceSlice]("DRADeviceBindingConditions",
			"Spec.Devices.BindingConditions", "Spec.Devices.BindingFailureConditions", "Spec.Devices.BindsToNode").And("DRAResourceClaimDeviceStatus"),
		registry.GateOf[resourcev1.ResourceSlice]("DRAConsumableCapacity",
			"Spec.Devices.AllowMultipleAllocations", "Spec.Devices.Capacity.RequestPolicy"),
		registry.GateOf[resourcev1.ResourceSlice]("DRADeviceCompatibilityGroups", "Spec.Devices.ConsumesCounters.CompatibilityGroups"),
		registry.GateOf[resourcev1.ResourceSlice]("DRAListTypeAttributes", "Spec.Devices.Attributes.BoolValues",
			"Spec.Devices.Attributes.IntValues", "Spec.Devices.Attributes.StringValues", "Spec.Devices.Attributes.VersionValues"),
		registry.GateOf[resourcev1.ResourceSlice]("DRANodeAllocatableResources", "Spec.Devices.NodeAllocatableResources"),
		registry.GateOf[resourcev1.ResourceSlice]("DRAOptionalNodeOperations", "Spec.SkipNodeOperations"),
	},
}

func defaultResourceSlice(s *resourcev1.ResourceSlice) {
	for i := range s.Spec.Devices {
		for j := range s.Spec.Devices[i].Taints {
			taintedNow(&s.Spec.Devices[i].Taints[j].TimeAdded)
		}
	}
}

func defaultResourceSliceV1beta1(s *resourcev1beta1.ResourceSlice) {
	for i := range s.Spec.Devices {
		if basic := s.Spec.Devices[i].Basic; basic != nil {
			for j := range basic.Taints {
				taintedNow(&basic.Taints[j].TimeAdded)
			}
		}
	}
}

// validateResourceSlice checks a new ResourceSlice, which lists devices of a driver.
func validateResourceSlice(o *resourcev1.ResourceSlice) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, apivalidation.NameIsDNSSubdomain)
	f.Merge(sliceSpec(&o.Spec, nil))
	return f.Errs
}

// validateResourceSliceUpdate checks an update of a ResourceSlice. The driver, the pool and the node can't change.
func validateResourceSliceUpdate(o, old *resourcev1.ResourceSlice) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(sliceSpec(&o.Spec, &old.Spec))
	return f.Errs
}

// sliceSpec checks a ResourceSlice by the rules that are missing in the generated validation of ResourceSliceSpec. The
// argument "old" is nil on create.
func sliceSpec(spec, old *resourcev1.ResourceSliceSpec) field.ErrorList {
	path := field.NewPath("spec")
	f := validation.Findings{Errs: podvalidation.CSIDriverName(path.Child("driver"), spec.Driver)}
	pool := path.Child("pool")
	f.Merge(poolName(pool.Child("name"), spec.Pool.Name))
	f.AddIf(spec.Pool.ResourceSliceCount <= 0, field.Invalid(pool.Child("resourceSliceCount"), spec.Pool.ResourceSliceCount, "must be greater than zero"))
	f.AddIf(spec.Pool.Generation < 0, field.Invalid(pool.Child("generation"), spec.Pool.Generation, "must be greater than or equal to zero"))
	if old != nil {
		f.Merge(validation.Unchanged(pool.Child("name"), spec.Pool.Name, old.Pool.Name),
			validation.Unchanged(path.Child("driver"), spec.Driver, old.Driver),
			validation.Unchanged(path.Child("nodeName"), spec.NodeName, old.NodeName))
	}
	f.Merge(sliceNodes(path, spec))
	f.AddIf(spec.Devices != nil && spec.SharedCounters != nil, field.Invalid(path, "", "only one of `sharedCounters` or `devices` is allowed"))
	f.Merge(sliceDevices(path.Child("devices"), spec, old))
	counters := path.Child("sharedCounters")
	for i, set := range validation.Within(spec.SharedCounters, resourcev1.ResourceSliceMaxCounterSets) {
		f.Merge(fewCounters(counters.Index(i), set.Counters))
	}
	if spec.PartitionTypeAttribute != nil {
		f.Merge(partitionType(path, spec))
	}
	f.Merge(skippedOperations(path.Child("skipNodeOperations"), spec.SkipNodeOperations))
	return f.Errs
}

// partitionType checks that each partition of a device, which is a device that consumes counters, has a string in the
// attribute that is the type of the slice's partitions. The name of an attribute without a domain has the driver's.
func partitionType(path *field.Path, spec *resourcev1.ResourceSliceSpec) field.ErrorList {
	name := *spec.PartitionTypeAttribute
	isPartition := func(d resourcev1.Device) bool { return len(d.ConsumesCounters) > 0 }
	if !slices.ContainsFunc(spec.Devices, isPartition) {
		return field.ErrorList{field.Invalid(path.Child("partitionTypeAttribute"), string(name),
			"may only be set on a slice which declares devices that consume counters")}
	}
	if len(validate.ResourceFullyQualifiedName(context.Background(), operation.Operation{}, nil, &name, nil)) > 0 {
		return nil // the generated validation checks the name
	}
	var f validation.Findings
	for i, d := range spec.Devices {
		if !isPartition(d) {
			continue
		}
		path := path.Child("devices").Index(i).Child("attributes").Key(string(name))
		attribute, has := d.Attributes[resourcev1.QualifiedName(name)]
		if !has {
			attribute, has = d.Attributes[resourcev1.QualifiedName(strings.TrimPrefix(string(name), spec.Driver+"/"))]
		}
		switch {
		case !has:
			f.Add(field.Required(path, "device consumes counters and `partitionTypeAttribute` names this attribute, so it must be set"))
		case attribute.StringValue == nil:
			f.Add(field.Invalid(path, validation.Unversioned(attribute), "must be a string value because `partitionTypeAttribute` names this attribute"))
		}
	}
	return f.Errs
}

// skippedOperations checks that a node that prepares no devices has none to unprepare.
func skippedOperations(path *field.Path, skipped []resourcev1.SkipNodeOperation) field.ErrorList {
	has := func(operation resourcev1.SkipNodeOperation) bool { return slices.Contains(skipped, operation) }
	var f validation.Findings
	f.AddIf(has(resourcev1.SkipNodeOperationNodePrepareResources) &&
		!has(resourcev1.SkipNodeOperationNodeUnprepareResources) && !has(resourcev1.SkipNodeOperationAll),
		field.Invalid(path, skipped, "NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped"))
	return f.Errs
}

// sliceDevices checks the devices. If there are too many, it doesn't check them one by one.
func sliceDevices(path *field.Path, spec, old *resourcev1.ResourceSliceSpec) field.ErrorList {
	most := resourcev1.ResourceSliceMaxDevices
	if slices.ContainsFunc(spec.Devices, func(d resourcev1.Device) bool { return len(d.Taints) > 0 || len(d.ConsumesCounters) > 0 }) {
		most = resourcev1.ResourceSliceMaxDevicesWithAdvancedFeatures
	}
	if len(spec.Devices) > most {
		return validation.Few(path, len(spec.Devices), most)
	}
	stored := map[string]*resourcev1.Device{}
	if old != nil {
		for i := range old.Devices {
			stored[old.Devices[i].Name] = &old.Devices[i]
		}
	}
	var f validation.Findings
	for i := range spec.Devices {
		d := &spec.Devices[i]
		f.Merge(device(path.Index(i), d, stored[d.Name], ptr.Deref(spec.PerDeviceNodeSelection, false)))
	}
	names := sets.New[string]()
	for i, d := range spec.Devices {
		f.AddIf(names.Has(d.Name), field.Duplicate(path.Index(i), d.Name))
		names.Insert(d.Name)
	}
	return f.Errs
}

// nodeFlag is a boolean field that selects nodes, such as allNodes. It must be true or missing.
type nodeFlag struct {
	name  string
	value *bool
}

// sliceNodes checks the fields that determine which nodes can use the devices of a ResourceSlice. Exactly one of
// these fields must be set.
func sliceNodes(path *field.Path, spec *resourcev1.ResourceSliceSpec) field.ErrorList {
	ways, errs := reachingNodes(path, spec.NodeName, "must be either unset or set to a non-empty string", spec.NodeSelector, true,
		nodeFlag{"allNodes", spec.AllNodes}, nodeFlag{"perDeviceNodeSelection", spec.PerDeviceNodeSelection})
	const need = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
	return append(errs, oneWay(path, ways, need, need+", but multiple fields are set")...)
}

// deviceNodes checks the fields that determine which nodes can use a device. Exactly one of these fields must be
// set.
func deviceNodes(path *field.Path, d *resourcev1.Device) field.ErrorList {
	ways, errs := reachingNodes(path, d.NodeName, "must not be empty", d.NodeSelector, false, nodeFlag{"allNodes", d.AllNodes})
	const need = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
	return append(errs, oneWay(path, ways, need, need)...)
}

// reachingNodes checks the fields that name nodes, and returns the names of the fields that are set. The argument
// "unnamed" is the error about an empty name, which doesn't count as set. The argument "oneTerm" is true if the
// selector must have one term.
func reachingNodes(path *field.Path, name *string, unnamed string, selector *corev1.NodeSelector, oneTerm bool,
	flags ...nodeFlag) (ways []string, errs field.ErrorList) {
	var f validation.Findings
	switch {
	case name == nil:
	case *name == "":
		f.Add(field.Invalid(path.Child("nodeName"), "", unnamed))
	default:
		ways = append(ways, "`nodeName`")
		f.Merge(validation.Follows(validation.ObjectName, path.Child("nodeName"), *name))
	}
	if selector != nil {
		ways = append(ways, "`nodeSelector`")
		f.Merge(podvalidation.NodeSelector(path.Child("nodeSelector"), selector))
		f.AddIf(oneTerm && len(selector.NodeSelectorTerms) != 1, field.Invalid(path.Child("nodeSelector", "nodeSelectorTerms"),
			validation.Unversioned(selector.NodeSelectorTerms), "must have exactly one node selector term"))
	}
	for _, flag := range flags {
		switch {
		case flag.value == nil:
		case *flag.value:
			ways = append(ways, "`"+flag.name+"`")
		default:
			f.Add(field.Invalid(path.Child(flag.name), false, "must be either unset or set to true"))
		}
	}
	return ways, f.Errs
}

func oneWay(path *field.Path, ways []string, none, many string) field.ErrorList {
	switch len(ways) {
	case 0:
		return field.ErrorList{field.Required(path, none)}
	case 1:
		return nil
	}
	return field.ErrorList{field.Invalid(path, fmt.Sprintf("{%s}", strings.Join(ways, ", ")), many)}
}

// device checks a device. The argument "old" is the stored device of the same name, or nil. The argument "ownNodes" is
// true if the device has fields of its own that select its nodes.
func device(path *field.Path, d, old *resourcev1.Device, ownNodes bool) field.ErrorList {
	f := validation.Findings{Errs: deviceName(path.Child("name"), d.Name)}
	const most = resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice
	n := len(d.Attributes) + len(d.Capacity)
	f.AddIf(n > most, field.Invalid(path, n, fmt.Sprintf("the total number of attributes and capacities must not exceed %d", most)))
	attributes, capacity := path.Child("attributes"), path.Child("capacity")
	for name, a := range validation.Sorted(d.Attributes) {
		f.Merge(deviceQualifiedName(attributes, string(name)), deviceAttribute(entryPath(attributes, name), &a))
		if len(name) > longestName && attributeValues(&a) != 1 {
			// The declared rule doesn't replace this one, because its error has the whole name.
			f.Add(field.Invalid(entryPath(attributes, name), "", "exactly one value must be specified"))
		}
	}
	for name, c := range validation.Sorted(d.Capacity) {
		f.Merge(deviceQualifiedName(capacity, string(name)), deviceCapacity(entryPath(capacity, name), &c, ptr.Deref(d.AllowMultipleAllocations, false)))
	}
	if old == nil || !apiequality.Semantic.DeepEqual(d.Taints, old.Taints) {
		taints := path.Child("taints")
		f.Merge(validation.Few(taints, len(d.Taints), resourcev1.DeviceTaintsMaxLength))
		for i, t := range validation.Within(d.Taints, resourcev1.DeviceTaintsMaxLength) {
			f.Merge(deviceTaint(taints.Index(i), &t))
		}
	}
	consumes := path.Child("consumesCounters")
	for i, c := range validation.Within(d.ConsumesCounters, resourcev1.ResourceSliceMaxDeviceCounterConsumptionsPerDevice) {
		f.Merge(fewCounters(consumes.Index(i), c.Counters))
	}
	if ownNodes {
		f.Merge(deviceNodes(path, d))
	} else {
		f.AddIf(d.NodeName != nil || d.NodeSelector != nil || d.AllNodes != nil, field.Invalid(path, nil,
			"`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec"))
	}
	f.Merge(bindingConditions(path, d.BindingConditions, d.BindingFailureConditions))
	return f.Errs
}

func fewCounters(path *field.Path, counters map[string]resourcev1.Counter) field.ErrorList {
	return validation.Few(path.Child("counters"), len(counters), resourcev1.ResourceSliceMaxCountersPerCounterSet)
}

// deviceAttribute checks the value of an attribute.
// longestName is the length of the longest name of an attribute or a capacity.
const longestName = resourcev1.DeviceMaxDomainLength + 1 + resourcev1.DeviceMaxIDLength

// entryPath returns the path of an attribute or a capacity. As in kube-apiserver, a name that is too long is cut in its
// middle.
func entryPath(path *field.Path, name resourcev1.QualifiedName) *field.Path {
	if len(name) > longestName {
		const kept = longestName - len("...")
		name = name[:(kept+1)/2] + "..." + name[len(name)-kept/2:]
	}
	return path.Key(string(name))
}

// attributeValues returns the number of the values that an attribute has.
func attributeValues(a *resourcev1.DeviceAttribute) int {
	v, n := reflect.ValueOf(*a), 0
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			n++
		}
	}
	return n
}

func deviceAttribute(path *field.Path, a *resourcev1.DeviceAttribute) field.ErrorList {
	const most = resourcev1.DeviceAttributeMaxValueLength
	var f validation.Findings
	f.AddIf(len(ptr.Deref(a.StringValue, "")) > most, field.TooLong(path.Child("string"), "", most))
	if v := a.VersionValue; v != nil {
		path := path.Child("version")
		_, err := semver.Parse(*v)
		f.AddIf(err != nil, field.Invalid(path, *v, "must be a string compatible with semver.org spec 2.0.0"))
		f.AddIf(len(*v) > most, field.TooLong(path, "", most))
	}
	return f.Errs
}

// deviceQualifiedName checks a name that may have a domain. As kube-apiserver, it accepts a name with several slashes.
func deviceQualifiedName(path *field.Path, name string) field.ErrorList {
	domain, id, qualified := strings.Cut(name, "/")
	switch {
	case !qualified:
		return deviceIdentifier(path, name)
	case strings.Contains(id, "/"):
		return nil
	}
	var f validation.Findings
	if domain == "" {
		f.Add(field.Invalid(path, "", "the domain must not be empty"))
	} else {
		f.Merge(podvalidation.CSIDriverName(path, domain))
	}
	if id == "" {
		f.Add(field.Invalid(path, "", "the name must not be empty"))
	} else {
		f.Merge(deviceIdentifier(path, id))
	}
	return f.Errs
}

func deviceIdentifier(path *field.Path, id string) field.ErrorList {
	var f validation.Findings
	f.AddIf(len(id) > resourcev1.DeviceMaxIDLength, field.TooLong(path, "", resourcev1.DeviceMaxIDLength))
	f.Merge(validation.Follows(content.IsCIdentifier, path, id))
	return f.Errs
}

var resourceSliceColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Node", printers.Doc(resourcev1.ResourceSliceSpec{}, "nodeName")),
		printers.Text("Driver", printers.Doc(resourcev1.ResourceSliceSpec{}, "driver")),
		printers.Text("Pool", printers.Doc(resourcev1.ResourcePool{}, "name")),
		printers.AgeColumn,
	},
	func(s *resourcev1.ResourceSlice) []any {
		node := ""
		if s.Spec.NodeName != nil {
			node = *s.Spec.NodeName
		}
		return []any{s.Name, node, s.Spec.Driver, s.Spec.Pool.Name, printers.Since(s.CreationTimestamp)}
	})

// resourceSliceWarnings warns of upper-case letters in the name of the driver.
func resourceSliceWarnings(_ context.Context, s, _ *resourcev1.ResourceSlice) []string {
	var l warnings.List
	if s.Spec.Driver != strings.ToLower(s.Spec.Driver) {
		l.At(warnings.SpecPath.Child("driver"), "driver names should be lowercase; %q contains uppercase characters", s.Spec.Driver)
	}
	return l
}

var resourceSliceFields = registry.FieldsOf[*resourcev1.ResourceSlice]{
	Values: func(s *resourcev1.ResourceSlice) fields.Set {
		var node string
		if s.Spec.NodeName != nil {
			node = *s.Spec.NodeName
		}
		return fields.Set{
			resourcev1.ResourceSliceSelectorNodeName: node,
			resourcev1.ResourceSliceSelectorDriver:   s.Spec.Driver,
			resourcev1.ResourceSliceSelectorPoolName: s.Spec.Pool.Name,
		}
	},
	Names: []string{
		resourcev1.ResourceSliceSelectorNodeName, resourcev1.ResourceSliceSelectorDriver, resourcev1.ResourceSliceSelectorPoolName,
	},
	Unsupported: "field label not supported for %[2]s: %[1]s",
}
