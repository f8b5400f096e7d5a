package defaults

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ResourceList rounds quantities up to a thousandth, which is the smallest unit of the API.
func ResourceList(list corev1.ResourceList) {
	for name, quantity := range list {
		if quantity.RoundUp(resource.Milli) {
			continue // the quantity needs no rounding
		}
		list[name] = quantity
	}
}

// ResourceRequirements rounds requests and limits up to a thousandth.
func ResourceRequirements(r *corev1.ResourceRequirements) {
	ResourceList(r.Limits)
	ResourceList(r.Requests)
}

// AddMissing copies the quantities of resources from one list to another list. It copies a quantity if accept
// returns true for the resource, and if the other list doesn't have the resource.
func AddMissing(to, from corev1.ResourceList, accept func(corev1.ResourceName) bool) {
	for name, quantity := range from {
		if _, found := to[name]; !found && accept(name) {
			to[name] = quantity.DeepCopy()
		}
	}
}
