package limitranger

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelpers "k8s.io/component-helpers/resource"
)

// asked are the requests and limits of a container, a pod or a claim.
type asked struct {
	requests, limits corev1.ResourceList
}

// checkPod returns an error for each limit that the pod's containers, or the pod as a whole, violate.
func checkPod(pod *corev1.Pod, limit *corev1.LimitRangeItem) []error {
	var all []asked
	switch limit.Type {
	case corev1.LimitTypeContainer:
		for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range containers {
				all = append(all, asked{containers[i].Resources.Requests, containers[i].Resources.Limits})
			}
		}
	case corev1.LimitTypePod:
		options := resourcehelpers.PodResourcesOptions{ExcludeOverhead: true}
		all = append(all, asked{resourcehelpers.PodRequests(pod, options), resourcehelpers.PodLimits(pod, options)})
	}
	var errs []error
	for _, a := range all {
		errs = append(errs, each(limit.Min, func(name corev1.ResourceName, bound resource.Quantity) error {
			return a.atLeast(limit.Type, name, bound)
		})...)
		errs = append(errs, each(limit.Max, func(name corev1.ResourceName, bound resource.Quantity) error {
			return a.atMost(limit.Type, name, bound)
		})...)
		errs = append(errs, each(limit.MaxLimitRequestRatio, func(name corev1.ResourceName, bound resource.Quantity) error { return a.ratio(limit.Type, name, bound) })...)
	}
	return errs
}

// checkClaim returns an error for each limit that the requests of a claim violate. The limits in a claim aren't
// checked.
func checkClaim(claim *corev1.PersistentVolumeClaim, limit *corev1.LimitRangeItem) []error {
	if limit.Type != corev1.LimitTypePersistentVolumeClaim {
		return nil
	}
	a := asked{requests: claim.Spec.Resources.Requests}
	return append(
		each(limit.Min, func(name corev1.ResourceName, bound resource.Quantity) error {
			return a.atLeast(limit.Type, name, bound)
		}),
		each(limit.Max, func(name corev1.ResourceName, bound resource.Quantity) error {
			return a.requestAtMost(limit.Type, name, bound)
		})...)
}

// each calls a function for each bound, sorted by the name of the resource.
func each(bounds corev1.ResourceList, check func(corev1.ResourceName, resource.Quantity) error) []error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(bounds)) {
		if err := check(name, bounds[name]); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func (a asked) atLeast(kind corev1.LimitType, name corev1.ResourceName, bound resource.Quantity) error {
	request, requested := a.requests[name]
	limit, limited := a.limits[name]
	switch {
	case !requested:
		return fmt.Errorf("minimum %s usage per %s is %s.  No request is specified", name, kind, bound.String())
	case request.Cmp(bound) < 0:
		return fmt.Errorf("minimum %s usage per %s is %s, but request is %s", name, kind, bound.String(), request.String())
	case limited && limit.Cmp(bound) < 0:
		return fmt.Errorf("minimum %s usage per %s is %s, but limit is %s", name, kind, bound.String(), limit.String())
	}
	return nil
}

func (a asked) atMost(kind corev1.LimitType, name corev1.ResourceName, bound resource.Quantity) error {
	limit, limited := a.limits[name]
	switch {
	case !limited:
		return fmt.Errorf("maximum %s usage per %s is %s.  No limit is specified", name, kind, bound.String())
	case limit.Cmp(bound) > 0:
		return fmt.Errorf("maximum %s usage per %s is %s, but limit is %s", name, kind, bound.String(), limit.String())
	}
	if _, requested := a.requests[name]; requested {
		return a.requestAtMost(kind, name, bound)
	}
	return nil
}

func (a asked) requestAtMost(kind corev1.LimitType, name corev1.ResourceName, bound resource.Quantity) error {
	request, requested := a.requests[name]
	switch {
	case !requested:
		return fmt.Errorf("maximum %s usage per %s is %s.  No request is specified", name, kind, bound.String())
	case request.Cmp(bound) > 0:
		return fmt.Errorf("maximum %s usage per %s is %s, but request is %s", name, kind, bound.String(), request.String())
	}
	return nil
}

func (a asked) ratio(kind corev1.LimitType, name corev1.ResourceName, bound resource.Quantity) error {
	request, limit := a.requests[name], a.limits[name]
	switch {
	case request.IsZero():
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but no request is specified or request is 0", name, kind, bound.String())
	case limit.IsZero():
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but no limit is specified or limit is 0", name, kind, bound.String())
	}
	if ratio := limit.AsApproximateFloat64() / request.AsApproximateFloat64(); ratio > bound.AsApproximateFloat64() {
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but provided ratio is %f", name, kind, bound.String(), ratio)
	}
	return nil
}
