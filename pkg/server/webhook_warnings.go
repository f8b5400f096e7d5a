package server

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// servedResources are what requests can be made for: the resources of the registry, those of definitions, and all
// that other servers may have.
func (c *Config) servedResources(yield func(warnings.ServedResource) bool) {
	for _, served := range []func(func(schema.GroupVersion, string) bool){c.groups.Load().Resources, c.customResources.Served} {
		for gv, path := range served {
			if !yield(warnings.ServedResource{GroupVersion: gv, Name: path}) {
				return
			}
		}
	}
	aggregator := c.aggregator.Load()
	if aggregator == nil {
		return
	}
	for _, s := range aggregator.Remote() {
		gv := schema.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version}
		if !yield(warnings.ServedResource{GroupVersion: gv, Name: warnings.AnyResource}) {
			return
		}
	}
}

// serviceWarning says why webhooks of a service can't be called, if the service or its port is missing.
func (c *Config) serviceWarning(namespace, name string, port int32) string {
	_, err := c.services.ResolveEndpoint(namespace, name, port)
	const later = "the webhook can't be called until there is one, or --webhook-service says where it is"
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("there is no service %s/%s: %s", namespace, name, later)
	case apierrors.HasStatusCause(err, admission.CauseNoServicePort):
		return fmt.Sprintf("service %s/%s has no port %d: %s", namespace, name, port, later)
	}
	return ""
}
