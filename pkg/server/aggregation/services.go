package aggregation

import (
	"errors"
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/admission/services"
)

// defaultPort is the port for an APIService that names a Service without a port.
const defaultPort = 443

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

// host returns the address of the server, as HOST:PORT.
func (e *endpoint) host() (string, error) {
	s := e.service.Spec.Service
	location, err := e.config.Services.ResolveEndpoint(s.Namespace, s.Name, ptr.Deref(s.Port, defaultPort))
	if err != nil {
		return "", err
	}
	return location.Host, nil
}

// unreachable returns the condition of the APIService for an error of the method host.
func (e *endpoint) unreachable(err error) apiregistrationv1.APIServiceCondition {
	s := e.service.Spec.Service
	if apierrors.IsNotFound(err) {
		return unavailable("ServiceNotFound", fmt.Sprintf("service/%s in %q is not present", s.Name, s.Namespace))
	}
	if _, ok := apierrors.StatusCause(err, services.CauseNoServicePort); ok {
		return unavailable("ServicePortError", fmt.Sprintf("service/%s in %q is not listening on port %d", s.Name, s.Namespace, ptr.Deref(s.Port, defaultPort)))
	}
	if _, ok := apierrors.StatusCause(err, services.CauseNoEndpointSlices); ok {
		return unavailable("EndpointsNotFound", fmt.Sprintf("cannot find endpointslices for service/%s in %q", s.Name, s.Namespace))
	}
	if cause, ok := apierrors.StatusCause(err, services.CauseNoEndpoints); ok {
		return unavailable("MissingEndpoints", fmt.Sprintf("endpointslices for service/%s in %q have no addresses with port name %q", s.Name, s.Namespace, cause.Field))
	}
	return newCondition(apiregistrationv1.ConditionUnknown, "ServiceAccessError", fmt.Sprintf("service/%s in %q cannot be checked due to: %v", s.Name, s.Namespace, err))
}
