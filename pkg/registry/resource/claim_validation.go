package resource

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// claimRequests are the names of a claim's requests, each with the names of its alternatives.
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

// requestName checks a reference to a request, or to one of its alternatives.
func requestName(path *field.Path, name string, requests claimRequests) field.ErrorList {
	var f validation.Findings
	if parts := strings.Split(name, "/"); len(parts) <= 2 {
		for _, part := range parts {
			f.Merge(validation.Follows(utilvalidation.IsDNS1123Label, path, part))
		}
	}
	f.AddIf(!requests.has(name), field.Invalid(path, name,
		"must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"))
	return f.Errs
}

func usedRequests(path *field.Path, names []string, requests claimRequests) field.ErrorList {
	var f validation.Findings
	for i, name := range validation.Within(names, resourcev1.DeviceRequestsMaxSize) {
		f.Merge(requestName(path.Index(i), name, requests))
	}
	return f.Errs
}

// claimSpec checks a claim by the rules that are missing in the generated validation of ResourceClaimSpec.
func claimSpec(path *field.Path, spec *resourcev1.ResourceClaimSpec) field.ErrorList {
	path = path.Child("devices")
	requests := requestNames(spec.Devices.Requests)
	var f validation.Findings
	for i, r := range validation.Within(spec.Devices.Requests, resourcev1.DeviceRequestsMaxSize) {
		f.Merge(deviceRequest(path.Child("requests").Index(i), &r))
	}
	for i, c := range validation.Within(spec.Devices.Constraints, resourcev1.DeviceConstraintsMaxSize) {
		path := path.Child("constraints").Index(i)
		f.Merge(usedRequests(path.Child("requests"), c.Requests, requests))
		f.AddIf(c.MatchAttribute == nil && c.DistinctAttribute == nil,
			field.Required(path, `exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set`))
	}
	for i, c := range validation.Within(spec.Devices.Config, resourcev1.DeviceConfigMaxSize) {
		path := path.Child("config").Index(i)
		f.Merge(usedRequests(path.Child("requests"), c.Requests, requests), deviceConfiguration(path, &c.DeviceConfiguration))
	}
	return f.Errs
}

func deviceRequest(path *field.Path, r *resourcev1.DeviceRequest) field.ErrorList {
	f := validation.Findings{Errs: validation.Follows(utilvalidation.IsDNS1123Label, path.Child("name"), r.Name)}
	switch {
	case r.Exactly == nil && len(r.FirstAvailable) == 0:
		f.Add(field.Required(path, "exactly one of `exactly` or `firstAvailable` is required"))
	case r.Exactly != nil && len(r.FirstAvailable) > 0:
		f.Add(field.Invalid(path, nil, "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"))
	case r.Exactly != nil:
		path, e := path.Child("exactly"), r.Exactly
		f.Merge(validation.Required(validation.ObjectName, path.Child("deviceClassName"), e.DeviceClassName),
			wantedDevices(path, e.Selectors, e.AllocationMode, e.Count, e.Tolerations))
	default:
		for i, sub := range validation.Within(r.FirstAvailable, resourcev1.FirstAvailableDeviceRequestMaxSize) {
			path := path.Child("firstAvailable").Index(i)
			f.Merge(validation.Follows(utilvalidation.IsDNS1123Label, path.Child("name"), sub.Name),
				wantedDevices(path, sub.Selectors, sub.AllocationMode, sub.Count, sub.Tolerations))
		}
	}
	return f.Errs
}

func wantedDevices(path *field.Path, selectors []resourcev1.DeviceSelector, mode resourcev1.DeviceAllocationMode,
	count int64, tolerations []resourcev1.DeviceToleration) field.ErrorList {
	f := validation.Findings{Errs: deviceSelectors(path.Child("selectors"), selectors, false)}
	switch mode {
	case "": // only through v1beta1, where a request without a class gets no default
		f.Merge(validation.OneOf(path.Child("allocationMode"), mode, resourcev1.DeviceAllocationModeAll, resourcev1.DeviceAllocationModeExactCount))
	case resourcev1.DeviceAllocationModeAll:
		f.AddIf(count != 0, field.Invalid(path.Child("count"), count, "must not be specified when allocationMode is 'All'"))
	case resourcev1.DeviceAllocationModeExactCount:
		f.AddIf(count <= 0, field.Invalid(path.Child("count"), count, "must be greater than zero"))
	}
	f.Merge(toleratedValues(path.Child("tolerations"), tolerations))
	return f.Errs
}

// toleratedValues checks the values of tolerations. The generated validation checks the other fields.
func toleratedValues(path *field.Path, tolerations []resourcev1.DeviceToleration) field.ErrorList {
	var f validation.Findings
	for i, t := range tolerations {
		value := path.Index(i).Child("value")
		switch t.Operator {
		case resourcev1.DeviceTolerationOpExists:
			f.AddIf(t.Value != "", field.Invalid(value, t.Value, "must be empty for operator `Exists`"))
		case resourcev1.DeviceTolerationOpEqual:
			f.Merge(validation.Follows(utilvalidation.IsValidLabelValue, value, t.Value))
		}
	}
	return f.Errs
}

func deviceConfiguration(path *field.Path, c *resourcev1.DeviceConfiguration) field.ErrorList {
	path = path.Child("opaque")
	if c.Opaque == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	var f validation.Findings
	parameters := path.Child("parameters")
	f.AddIf(len(c.Opaque.Parameters.Raw) == 0, field.Required(parameters, ""))
	f.Merge(rawObject(parameters, c.Opaque.Parameters.Raw, resourcev1.OpaqueParametersMaxLength))
	return f.Errs
}

// rawObject checks parameters that only a driver can interpret.
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
