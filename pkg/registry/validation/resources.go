package validation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
)

var (
	// ComputeResources are the resources that every node has.
	ComputeResources = sets.New(corev1.ResourceCPU, corev1.ResourceMemory)
	// containerResources are the resources without a domain that a container can request.
	containerResources = ComputeResources.Clone().Insert(corev1.ResourceEphemeralStorage)
	// CountedResources are the resources of a quota that count objects. Their amounts are whole numbers.
	CountedResources = sets.New(
		corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices,
		corev1.ResourceReplicationControllers, corev1.ResourceSecrets, corev1.ResourceConfigMaps,
		corev1.ResourcePersistentVolumeClaims, corev1.ResourceServicesNodePorts,
		corev1.ResourceServicesLoadBalancers)
	// standardResources are all resources without a domain, except huge pages.
	standardResources = containerResources.Union(CountedResources).Insert(
		corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
		corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage,
		corev1.ResourceStorage, corev1.ResourceRequestsStorage)
)

// IsHugePages reports whether a resource is huge pages, of any size.
func IsHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// IsQualifiedResource reports whether the name of a resource has a domain.
func IsQualifiedResource(name corev1.ResourceName) bool { return strings.Contains(string(name), "/") }

func isStandardResource(name corev1.ResourceName) bool {
	return standardResources.Has(name) || IsHugePages(name) ||
		strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
}

// IsOvercommittable reports whether the limit of a resource may exceed its request.
func IsOvercommittable(name corev1.ResourceName) bool {
	return podspec.IsNativeResource(name) && !IsHugePages(name)
}

// ResourceName checks the name of any resource.
func ResourceName(path *field.Path, name corev1.ResourceName) field.ErrorList {
	if errs := Qualified(path, string(name)); len(errs) > 0 {
		return errs
	}
	if !IsQualifiedResource(name) && !isStandardResource(name) {
		return field.ErrorList{field.Invalid(path, name, "must be a standard resource type or fully qualified")}
	}
	return nil
}

// ContainerResourceName checks the name of a resource that a container requests.
func ContainerResourceName(path *field.Path, name corev1.ResourceName) field.ErrorList {
	errs := ResourceName(path, name)
	switch {
	case !IsQualifiedResource(name):
		if !containerResources.Has(name) && !IsHugePages(name) {
			errs = append(errs, field.Invalid(path, name, "must be a standard resource for containers"))
		}
	case !podspec.IsNativeResource(name) && !podspec.IsExtendedResource(name):
		errs = append(errs, field.Invalid(path, name, "doesn't follow extended resource name standard"))
	}
	return errs
}

// PodResourceName checks the name of a resource that the pod as a whole requests (KEP-2837).
func PodResourceName(path *field.Path, name corev1.ResourceName) field.ErrorList {
	if errs := ResourceName(path, name); len(errs) > 0 {
		return errs
	}
	if !resourcehelper.IsSupportedPodLevelResource(name) {
		return field.ErrorList{field.NotSupported(path, name, sets.List(resourcehelper.SupportedPodLevelResources()))}
	}
	return nil
}

// ResourceQuantity checks the amount of a resource. The amounts of CountedResources and of extended resources, such as
// example.com/gpu, must be whole numbers.
func ResourceQuantity(path *field.Path, name corev1.ResourceName, q resource.Quantity) field.ErrorList {
	var f Findings
	f.AddIf(q.Sign() < 0, field.Invalid(path, q.String(), apivalidation.IsNegativeErrorMsg))
	whole := CountedResources.Has(name) || podspec.IsExtendedResource(name)
	f.AddIf(whole && q.MilliValue()%1000 != 0, field.Invalid(path, q, "must be an integer"))
	return f.Errs
}

// hugePages checks that the amount is a multiple of the page size.
func hugePages(path *field.Path, name corev1.ResourceName, q resource.Quantity) field.ErrorList {
	page, err := resource.ParseQuantity(strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix))
	if err == nil && page.Sign() > 0 && page.MilliValue()%1000 == 0 && q.Value()%page.Value() == 0 {
		return nil
	}
	msg := fmt.Sprintf("%s is not positive integer multiple of %s", q.String(), name)
	return field.ErrorList{field.Invalid(path, q.String(), msg)}
}

type resourceNameRule func(*field.Path, corev1.ResourceName) field.ErrorList

// ResourceRequirements checks requests and limits. It also checks that the claims are claims of the pod.
func ResourceRequirements(path *field.Path, r *corev1.ResourceRequirements, name resourceNameRule, podClaims sets.Set[string]) field.ErrorList {
	var f Findings
	limits, requests := path.Child("limits"), path.Child("requests")
	compute, huge := false, false
	amount := func(path *field.Path, n corev1.ResourceName, q resource.Quantity) {
		f.Merge(name(path, n), ResourceQuantity(path, n, q))
		compute, huge = compute || ComputeResources.Has(n), huge || IsHugePages(n)
	}
	for n, q := range Sorted(r.Limits) {
		amount(limits.Key(string(n)), n, q)
		if IsHugePages(n) {
			f.Merge(hugePages(limits.Key(string(n)), n, q))
		}
	}
	for n, q := range Sorted(r.Requests) {
		amount(requests.Key(string(n)), n, q)
		f.Merge(requestWithinLimit(requests, limits, n, q, r.Limits))
		if IsHugePages(n) {
			f.Merge(hugePages(requests.Key(string(n)), n, q))
		}
	}
	f.AddIf(huge && !compute, field.Forbidden(path, "HugePages require cpu or memory"))
	f.Merge(usedClaims(path.Child("claims"), r.Claims, podClaims))
	return f.Errs
}

func requestWithinLimit(requests, limits *field.Path, name corev1.ResourceName, request resource.Quantity, all corev1.ResourceList) field.ErrorList {
	limit, limited := all[name]
	var relation string
	switch {
	case !limited && !IsOvercommittable(name):
		return field.ErrorList{field.Required(limits, "Limit must be set for non overcommitable resources")}
	case !limited:
		return nil
	case !IsOvercommittable(name) && request.Cmp(limit) != 0:
		relation = "equal to"
	case request.Cmp(limit) > 0:
		relation = "less than or equal to"
	default:
		return nil
	}
	msg := fmt.Sprintf("must be %s %s limit of %s", relation, name, limit.String())
	return field.ErrorList{field.Invalid(requests, request.String(), msg)}
}

// usedClaims checks the resource claims that a container uses. A container uses a claim as a whole, or single
// requests of the claim. It must not list a claim or a request twice, or list both a claim and one of its
// requests.
func usedClaims(path *field.Path, claims []corev1.ResourceClaim, podClaims sets.Set[string]) field.ErrorList {
	var f Findings
	whole, parts, inParts := sets.New[string](), sets.New[string](), map[string]int{}
	for i, claim := range claims {
		path := path.Index(i)
		if claim.Name == "" {
			f.Add(field.Required(path, ""))
			continue
		}
		part := claim.Name + "/" + claim.Request
		switch {
		case whole.Has(claim.Name):
			f.Add(field.Duplicate(path, claim.Name))
		case claim.Request == "":
			for range inParts[claim.Name] {
				f.Add(field.Duplicate(path, claim.Name))
			}
			whole.Insert(claim.Name)
		default:
			f.Merge(Follows(utilvalidation.IsDNS1123Label, path.Child("request"), claim.Request))
			if parts.Has(part) {
				f.Add(field.Duplicate(path, part))
			} else {
				inParts[claim.Name]++
			}
			parts.Insert(part)
		}
		if !podClaims.Has(claim.Name) {
			f.Add(unknownClaim(path, claim.Name, podClaims))
		}
	}
	return f.Errs
}

func unknownClaim(path *field.Path, name string, podClaims sets.Set[string]) *field.Error {
	err := field.NotFound(path, name)
	err.Detail = "must be one of the names in pod.spec.resourceClaims"
	if len(podClaims) == 0 {
		err.Detail += " which is empty"
	} else {
		err.Detail += ": " + strings.Join(sets.List(podClaims), ", ")
	}
	return err
}
