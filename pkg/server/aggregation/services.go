package aggregation

import (
	"errors"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// followServices starts a check of a server when its Service or the endpoints of its Service change.
func (a *Aggregator) followServices() error {
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    a.serviceChanged,
		UpdateFunc: func(before, after any) { a.serviceChanged(before); a.serviceChanged(after) },
		DeleteFunc: a.serviceChanged,
	}
	var errs []error
	for _, informer := range a.config.ServiceInformers {
		_, err := informer.AddEventHandler(handler)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (a *Aggregator) serviceChanged(obj any) {
	if a.remotes.none() {
		return
	}
	changed, ok := serviceOf(obj)
	if !ok {
		return
	}
	for _, r := range a.remotes.all() {
		if s := r.service.Spec.Service; s.Namespace == changed.Namespace && s.Name == changed.Name {
			r.checkSoon()
		}
	}
}

// serviceOf returns the name of the Service to which obj belongs. obj is a Service, an Endpoints or an EndpointSlice.
func serviceOf(obj any) (types.NamespacedName, bool) {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	object, err := meta.Accessor(obj)
	if err != nil {
		return types.NamespacedName{}, false
	}
	service := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
	if slice, ok := obj.(*discoveryv1.EndpointSlice); ok {
		service.Name = slice.Labels[discoveryv1.LabelServiceName]
	}
	return service, true
}
