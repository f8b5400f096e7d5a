package validation

import (
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DeviceClass checks a new class (KEP-4381).
func DeviceClass(o *resourcev1.DeviceClass) field.ErrorList {
	f := Created(&o.ObjectMeta, ClusterScoped, apivalidation.NameIsDNSSubdomain)
	f.Merge(deviceClassSpec(&o.Spec, nil))
	return f.Errs
}

// DeviceClassUpdate checks a class that replaces another.
func DeviceClassUpdate(o, old *resourcev1.DeviceClass) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(deviceClassSpec(&o.Spec, &old.Spec))
	return f.Errs
}

// deviceClassSpec checks a class. Selectors that the old one has, all of them, are stored.
func deviceClassSpec(spec, old *resourcev1.DeviceClassSpec) field.ErrorList {
	path := field.NewPath("spec")
	stored := old != nil && apiequality.Semantic.DeepEqual(spec.Selectors, old.Selectors)
	f := Findings{deviceSelectors(path.Child("selectors"), spec.Selectors, stored)}
	f.Merge(Few(path.Child("config"), len(spec.Config), resourcev1.DeviceConfigMaxSize))
	for i := range spec.Config {
		f.Merge(deviceConfiguration(path.Child("config").Index(i), &spec.Config[i].DeviceConfiguration))
	}
	if name := spec.ExtendedResourceName; name != nil {
		f.Merge(declared(validate.ExtendedResourceName, path.Child("extendedResourceName"), *name))
	}
	return f.Errs
}

// ResourceClaim checks a new claim.
func ResourceClaim(o *resourcev1.ResourceClaim) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(claimSpec(field.NewPath("spec"), &o.Spec, false))
	return f.Errs
}

// ResourceClaimUpdate checks a claim that replaces another: what it asks for never
// changes.
func ResourceClaimUpdate(o, old *resourcev1.ResourceClaim) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(Unchanged(field.NewPath("spec"), o.Spec, old.Spec))
	if len(f.Errs) == 0 {
		f.Merge(claimSpec(field.NewPath("spec"), &o.Spec, true))
	}
	return f.Errs
}

// maxAllocationConfig is that of the claim and that of the class.
const maxAllocationConfig = 2 * resourcev1.DeviceConfigMaxSize

// ResourceClaimStatusUpdate checks who allocates, reserves and reports devices.
func ResourceClaimStatusUpdate(o, old *resourcev1.ResourceClaim) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("status")
	reserved := path.Child("reservedFor")
	users := sets.New[string]()
	f.Merge(Few(reserved, len(o.Status.ReservedFor), resourcev1.ResourceClaimReservedForMaxSize))
	for i, user := range o.Status.ReservedFor {
		path := reserved.Index(i)
		f.AddIf(user.Resource == "", field.Required(path.Child("resource"), ""))
		f.AddIf(user.Name == "", field.Required(path.Child("name"), ""))
		f.AddIf(user.UID == "", field.Required(path.Child("uid"), ""))
		f.AddIf(users.Has(string(user.UID)), field.Duplicate(path, user))
		users.Insert(string(user.UID))
	}
	now, was := o.Status.Allocation, old.Status.Allocation
	f.AddIf(len(o.Status.ReservedFor) > 0 && now == nil, field.Forbidden(reserved, "may not be specified when `allocated` is not set"))
	f.Merge(reportedDevices(path.Child("devices"), &o.Status))
	if o.DeletionTimestamp != nil {
		for i, user := range o.Status.ReservedFor {
			f.AddIf(!slices.Contains(old.Status.ReservedFor, user),
				field.Forbidden(reserved.Index(i), "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"))
		}
	}
	if now == nil {
		return f.Errs
	}
	allocation := path.Child("allocation")
	if was != nil {
		f.AddIf(!apiequality.Semantic.DeepEqual(now, was), field.Invalid(allocation, nil, "field cannot be modified once set"))
		return f.Errs
	}
	if now.NodeSelector != nil {
		f.Merge(NodeSelector(allocation.Child("nodeSelector"), now.NodeSelector))
	}
	results := allocation.Child("devices", "results")
	f.Merge(Few(results, len(now.Devices.Results), resourcev1.AllocationResultsMaxSize))
	requests := requestNames(o.Spec.Devices.Requests)
	for i, r := range now.Devices.Results {
		path := results.Index(i)
		f.Merge(requestName(path.Child("request"), r.Request, requests), CSIDriverName(path.Child("driver"), r.Driver),
			poolName(path.Child("pool"), r.Pool), deviceName(path.Child("device"), r.Device),
			bindingConditions(path.Child("bindingConditions"), r.BindingConditions),
			bindingConditions(path.Child("bindingFailureConditions"), r.BindingFailureConditions),
			allocatedTolerations(path.Child("tolerations"), r.Tolerations))
		if r.ShareID != nil {
			f.Merge(declared(validate.UUID, path.Child("shareID"), *r.ShareID))
		}
	}
	config := allocation.Child("devices", "config")
	f.Merge(Few(config, len(now.Devices.Config), maxAllocationConfig))
	for i := range now.Devices.Config {
		path := config.Index(i)
		c := &now.Devices.Config[i]
		f.Merge(RequiredOneOf(path.Child("source"), c.Source, resourcev1.AllocationConfigSourceClaim, resourcev1.AllocationConfigSourceClass),
			usedRequests(path.Child("requests"), c.Requests, requests), deviceConfiguration(path, &c.DeviceConfiguration))
	}
	return f.Errs
}

// allocatedTolerations checks the form of what a request tolerated.
func allocatedTolerations(path *field.Path, tolerations []resourcev1.DeviceToleration) field.ErrorList {
	var f Findings
	for i, t := range tolerations {
		path := path.Index(i)
		if t.Key != "" {
			f.Merge(metav1validation.ValidateLabelName(t.Key, path.Child("key")))
		}
		f.Merge(OneOf(path.Child("operator"), t.Operator, resourcev1.DeviceTolerationOpEqual, resourcev1.DeviceTolerationOpExists))
		if t.Effect != "" {
			f.Merge(OneOf(path.Child("effect"), t.Effect, deviceTaintEffects...))
		}
	}
	return f.Errs
}

// ResourceClaimTemplate checks a new template.
func ResourceClaimTemplate(o *resourcev1.ResourceClaimTemplate) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	spec := field.NewPath("spec")
	f.Merge(ClaimTemplateMeta(spec.Child("metadata"), &o.Spec.ObjectMeta), claimSpec(spec.Child("spec"), &o.Spec.Spec, false))
	return f.Errs
}

// ResourceClaimTemplateUpdate checks a template that replaces another.
func ResourceClaimTemplateUpdate(o, old *resourcev1.ResourceClaimTemplate) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(Unchanged(field.NewPath("spec"), o.Spec, old.Spec))
	return f.Errs
}

// Few checks that a list isn't too long.
func Few(path *field.Path, n, most int) field.ErrorList {
	if n <= most {
		return nil
	}
	return field.ErrorList{field.TooMany(path, n, most)}
}

// claimRequests are the requests of a claim, with their alternatives.
type claimRequests map[string]sets.Set[string]

func requestNames(requests []resourcev1.DeviceRequest) claimRequests {
	names := claimRequests{}
	for _, r := range requests {
		names[r.Name] = sets.New[string]()
		for _, sub := range r.FirstAvailable {
			names[r.Name].Insert(sub.Name)
		}
	}
	return names
}

func (c claimRequests) has(name string) bool {
	request, sub, nested := strings.Cut(name, "/")
	subs, ok := c[request]
	return ok && (!nested || subs.Has(sub))
}

func requestName(path *field.Path, name string, requests claimRequests) field.ErrorList {
	if requests.has(name) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'")}
}

func usedRequests(path *field.Path, names []string, requests claimRequests) field.ErrorList {
	f := Findings{Few(path, len(names), resourcev1.DeviceRequestsMaxSize)}
	for i, name := range names {
		f.Merge(requestName(path.Index(i), name, requests))
		f.AddIf(slices.Contains(names[:i], name), field.Duplicate(path.Index(i), name))
	}
	return f.Errs
}

func claimSpec(path *field.Path, spec *resourcev1.ResourceClaimSpec, stored bool) field.ErrorList {
	path = path.Child("devices")
	requests := requestNames(spec.Devices.Requests)
	f := Findings{Few(path.Child("requests"), len(spec.Devices.Requests), resourcev1.DeviceRequestsMaxSize)}
	seen := sets.New[string]()
	for i := range spec.Devices.Requests {
		r := &spec.Devices.Requests[i]
		f.Merge(deviceRequest(path.Child("requests").Index(i), r, stored))
		f.AddIf(seen.Has(r.Name), field.Duplicate(path.Child("requests").Index(i), *r))
		seen.Insert(r.Name)
	}
	constraints := path.Child("constraints")
	f.Merge(Few(constraints, len(spec.Devices.Constraints), resourcev1.DeviceConstraintsMaxSize))
	for i, c := range spec.Devices.Constraints {
		path := constraints.Index(i)
		f.Merge(usedRequests(path.Child("requests"), c.Requests, requests))
		f.AddIf(c.MatchAttribute == nil && c.DistinctAttribute == nil, field.Required(path, "exactly one of matchAttribute or distinctAttribute is required"))
		f.AddIf(c.MatchAttribute != nil && c.DistinctAttribute != nil, field.Invalid(path, Unversioned(c), "exactly one of matchAttribute or distinctAttribute is required, but multiple fields are set"))
		if c.MatchAttribute != nil {
			f.Merge(declared(validate.ResourceFullyQualifiedName, path.Child("matchAttribute"), *c.MatchAttribute))
		}
		if c.DistinctAttribute != nil {
			f.Merge(declared(validate.ResourceFullyQualifiedName, path.Child("distinctAttribute"), *c.DistinctAttribute))
		}
	}
	config := path.Child("config")
	f.Merge(Few(config, len(spec.Devices.Config), resourcev1.DeviceConfigMaxSize))
	for i := range spec.Devices.Config {
		c := &spec.Devices.Config[i]
		f.Merge(usedRequests(config.Index(i).Child("requests"), c.Requests, requests), deviceConfiguration(config.Index(i), &c.DeviceConfiguration))
	}
	return f.Errs
}

func deviceRequest(path *field.Path, r *resourcev1.DeviceRequest, stored bool) field.ErrorList {
	f := Findings{Required(utilvalidation.IsDNS1123Label, path.Child("name"), r.Name)}
	switch {
	case r.Exactly == nil && len(r.FirstAvailable) == 0:
		f.Add(field.Required(path, "exactly one of `exactly` or `firstAvailable` is required"))
	case r.Exactly != nil && len(r.FirstAvailable) > 0:
		f.Add(field.Invalid(path, nil, "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"))
	case r.Exactly != nil:
		e := r.Exactly
		f.Merge(wantedDevices(path.Child("exactly"), e.DeviceClassName, e.Selectors, stored, e.AllocationMode, e.Count, e.Tolerations))
	default:
		subs := path.Child("firstAvailable")
		f.Merge(Few(subs, len(r.FirstAvailable), resourcev1.FirstAvailableDeviceRequestMaxSize))
		names := sets.New[string]()
		for i, sub := range r.FirstAvailable {
			path := subs.Index(i)
			f.Merge(Required(utilvalidation.IsDNS1123Label, path.Child("name"), sub.Name),
				wantedDevices(path, sub.DeviceClassName, sub.Selectors, stored, sub.AllocationMode, sub.Count, sub.Tolerations))
			f.AddIf(names.Has(sub.Name), field.Duplicate(path, sub))
			names.Insert(sub.Name)
		}
	}
	return f.Errs
}

func wantedDevices(path *field.Path, class string, selectors []resourcev1.DeviceSelector, stored bool, mode resourcev1.DeviceAllocationMode,
	count int64, tolerations []resourcev1.DeviceToleration) field.ErrorList {
	f := Findings{Required(Named(apivalidation.NameIsDNSSubdomain), path.Child("deviceClassName"), class)}
	f.Merge(deviceSelectors(path.Child("selectors"), selectors, stored))
	f.Merge(OneOf(path.Child("allocationMode"), mode, resourcev1.DeviceAllocationModeAll, resourcev1.DeviceAllocationModeExactCount))
	switch mode {
	case resourcev1.DeviceAllocationModeAll:
		f.AddIf(count != 0, field.Invalid(path.Child("count"), count, "must not be specified when allocationMode is 'All'"))
	case resourcev1.DeviceAllocationModeExactCount:
		f.AddIf(count <= 0, field.Invalid(path.Child("count"), count, "must be greater than zero"))
	}
	for i, t := range tolerations {
		path := path.Child("tolerations").Index(i)
		if t.Key != "" {
			f.Merge(metav1validation.ValidateLabelName(t.Key, path.Child("key")))
		}
		f.AddIf(t.Key == "" && t.Operator != resourcev1.DeviceTolerationOpExists,
			field.Invalid(path.Child("operator"), t.Operator, "operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
		f.Merge(RequiredOneOf(path.Child("operator"), t.Operator, resourcev1.DeviceTolerationOpEqual, resourcev1.DeviceTolerationOpExists))
		switch t.Operator {
		case resourcev1.DeviceTolerationOpExists:
			f.AddIf(t.Value != "", field.Invalid(path.Child("value"), t.Value, "must be empty for operator `Exists`"))
		case resourcev1.DeviceTolerationOpEqual:
			f.Merge(Follows(utilvalidation.IsValidLabelValue, path.Child("value"), t.Value))
		}
		if t.Effect != "" {
			f.Merge(OneOf(path.Child("effect"), t.Effect, deviceTaintEffects...))
		}
	}
	return f.Errs
}

func deviceConfiguration(path *field.Path, c *resourcev1.DeviceConfiguration) field.ErrorList {
	path = path.Child("opaque")
	if c.Opaque == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	f := Findings{CSIDriverName(path.Child("driver"), c.Opaque.Driver)}
	parameters := path.Child("parameters")
	f.AddIf(len(c.Opaque.Parameters.Raw) == 0, field.Required(parameters, ""))
	f.Merge(rawObject(parameters, c.Opaque.Parameters.Raw, resourcev1.OpaqueParametersMaxLength))
	return f.Errs
}

// rawObject checks what only a driver understands.
func rawObject(path *field.Path, raw []byte, most int) field.ErrorList {
	if len(raw) == 0 {
		return nil
	}
	if len(raw) > most {
		return field.ErrorList{field.TooLong(path, "", most)}
	}
	var object any
	if err := json.Unmarshal(raw, &object); err != nil {
		return field.ErrorList{field.Invalid(path, "<value omitted>", "error parsing data as JSON: "+err.Error())}
	}
	if _, ok := object.(map[string]any); !ok {
		return field.ErrorList{field.Invalid(path, "<value omitted>", "must be a valid JSON object")}
	}
	return nil
}
