package podvalidation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// podResources checks the resources of the whole pod, and compares them with the sum of its containers (KEP-2837).
func podResources(path *field.Path, spec *corev1.PodSpec, claims sets.Set[string]) field.ErrorList {
	switch {
	case spec.Resources == nil:
		return nil
	case podspec.IsWindows(spec):
		return field.ErrorList{field.Forbidden(path, "may not be set for a windows pod")}
	}
	var f validation.Findings
	f.AddIf(spec.Resources.Claims != nil, field.Forbidden(path.Child("claims"), "claims may not be set for Resources at pod-level"))
	f.Merge(validation.ResourceRequirements(path, spec.Resources, validation.PodResourceName, claims))

	pod := &corev1.Pod{Spec: *spec}
	for name, sum := range validation.Sorted(resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{})) {
		if request, set := spec.Resources.Requests[name]; set && sum.Cmp(request) > 0 {
			f.Add(field.Invalid(path.Child("requests").Key(string(name)), request.String(),
				fmt.Sprintf("must be greater than or equal to aggregate container requests of %s", sum.String())))
		}
	}
	for name, sum := range validation.Sorted(resourcehelper.AggregateContainerLimits(pod, resourcehelper.PodResourcesOptions{})) {
		if limit, set := spec.Resources.Limits[name]; set && validation.IsHugePages(name) && sum.Cmp(limit) > 0 {
			f.Add(field.Invalid(path.Child("limits").Key(string(name)), limit.String(),
				fmt.Sprintf("must be greater than or equal to aggregate container limits of %s", sum.String())))
		}
	}
	for i := range spec.Containers {
		for name, own := range validation.Sorted(spec.Containers[i].Resources.Limits) {
			if limit, set := spec.Resources.Limits[name]; set && own.Cmp(limit) > 0 {
				f.Add(field.Invalid(path.Child("containers").Index(i).Key(string(name)).Child("limits"), own.String(),
					fmt.Sprintf("must be less than or equal to pod limits of %s", limit.String())))
			}
		}
	}
	return f.Errs
}
