package resource

import (
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/validate"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// claimRequests are the requests of a claim with their alternatives.
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
	f := validation.Findings{Errs: validation.Few(path, len(names), resourcev1.DeviceRequestsMaxSize)}
	for i, name := range names {
		f.Merge(requestName(path.Index(i), name, requests))
		f.AddIf(slices.Contains(names[:i], name), field.Duplicate(path.Index(i), name))
	}
	return f.Errs
}

func claimSpec(path *field.Path, spec *resourcev1.ResourceClaimSpec, stored bool) field.ErrorList {
	path = path.Child("devices")
	requests := requestNames(spec.Devices.Requests)
	f := validation.Findings{Errs: validation.Few(path.Child("requests"), len(spec.Devices.Requests), resourcev1.DeviceRequestsMaxSize)}
	seen := sets.New[string]()
	for i := range spec.Devices.Requests {
		r := &spec.Devices.Requests[i]
		f.Merge(deviceRequest(path.Child("requests").Index(i), r, stored))
		f.AddIf(seen.Has(r.Name), field.Duplicate(path.Child("requests").Index(i), *r))
		seen.Insert(r.Name)
	}
	constraints := path.Child("constraints")
	f.Merge(validation.Few(constraints, len(spec.Devices.Constraints), resourcev1.DeviceConstraintsMaxSize))
	for i, c := range spec.Devices.Constraints {
		path := constraints.Index(i)
		f.Merge(usedRequests(path.Child("requests"), c.Requests, requests))
		f.AddIf(c.MatchAttribute == nil && c.DistinctAttribute == nil, field.Required(path, "exactly one of matchAttribute or distinctAttribute is required"))
		f.AddIf(c.MatchAttribute != nil && c.DistinctAttribute != nil, field.Invalid(path, validation.Unversioned(c), "exactly one of matchAttribute or distinctAttribute is required, but multiple fields are set"))
		if c.MatchAttribute != nil {
			f.Merge(declared(validate.ResourceFullyQualifiedName, path.Child("matchAttribute"), *c.MatchAttribute))
		}
		if c.DistinctAttribute != nil {
			f.Merge(declared(validate.ResourceFullyQualifiedName, path.Child("distinctAttribute"), *c.DistinctAttribute))
		}
	}
	config := path.Child("config")
	f.Merge(validation.Few(config, len(spec.Devices.Config), resourcev1.DeviceConfigMaxSize))
	for i := range spec.Devices.Config {
		c := &spec.Devices.Config[i]
		f.Merge(usedRequests(config.Index(i).Child("requests"), c.Requests, requests), deviceConfiguration(config.Index(i), &c.DeviceConfiguration))
	}
	return f.Errs
}

func deviceRequest(path *field.Path, r *resourcev1.DeviceRequest, stored bool) field.ErrorList {
	f := validation.Findings{Errs: validation.Required(utilvalidation.IsDNS1123Label, path.Child("name"), r.Name)}
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
		f.Merge(validation.Few(subs, len(r.FirstAvailable), resourcev1.FirstAvailableDeviceRequestMaxSize))
		names := sets.New[string]()
		for i, sub := range r.FirstAvailable {
			path := subs.Index(i)
			f.Merge(validation.Required(utilvalidation.IsDNS1123Label, path.Child("name"), sub.Name),
				wantedDevices(path, sub.DeviceClassName, sub.Selectors, stored, sub.AllocationMode, sub.Count, sub.Tolerations))
			f.AddIf(names.Has(sub.Name), field.Duplicate(path, sub))
			names.Insert(sub.Name)
		}
	}
	return f.Errs
}

func wantedDevices(path *field.Path, class string, selectors []resourcev1.DeviceSelector, stored bool, mode resourcev1.DeviceAllocationMode,
	count int64, tolerations []resourcev1.DeviceToleration) field.ErrorList {
	f := validation.Findings{Errs: validation.Required(validation.Named(apivalidation.NameIsDNSSubdomain), path.Child("deviceClassName"), class)}
	f.Merge(deviceSelectors(path.Child("selectors"), selectors, stored))
	f.Merge(validation.OneOf(path.Child("allocationMode"), mode, resourcev1.DeviceAllocationModeAll, resourcev1.DeviceAllocationModeExactCount))
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
		f.Merge(validation.RequiredOneOf(path.Child("operator"), t.Operator, resourcev1.DeviceTolerationOpEqual, resourcev1.DeviceTolerationOpExists))
		switch t.Operator {
		case resourcev1.DeviceTolerationOpExists:
			f.AddIf(t.Value != "", field.Invalid(path.Child("value"), t.Value, "must be empty for operator `Exists`"))
		case resourcev1.DeviceTolerationOpEqual:
			f.Merge(validation.Follows(utilvalidation.IsValidLabelValue, path.Child("value"), t.Value))
		}
		if t.Effect != "" {
			f.Merge(validation.OneOf(path.Child("effect"), t.Effect, deviceTaintEffects...))
		}
	}
	return f.Errs
}

func deviceConfiguration(path *field.Path, c *resourcev1.DeviceConfiguration) field.ErrorList {
	path = path.Child("opaque")
	if c.Opaque == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	f := validation.Findings{Errs: podvalidation.CSIDriverName(path.Child("driver"), c.Opaque.Driver)}
	parameters := path.Child("parameters")
	f.AddIf(len(c.Opaque.Parameters.Raw) == 0, field.Required(parameters, ""))
	f.Merge(rawObject(parameters, c.Opaque.Parameters.Raw, resourcev1.OpaqueParametersMaxLength))
	return f.Errs
}

// rawObject checks parameters that only a driver understands.
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
