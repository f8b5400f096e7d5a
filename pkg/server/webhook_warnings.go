package server

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// servedResources are what requests can be made for: the resources of the registry, those of definitions, and all
// that other servers may have.
func (c *Config) servedResources(yield func(warnings.ServedResource) bool) {
	for gv, routes := range c.groups.Load().versions {
		for path := range routes.version.Storage {
			if !yield(warnings.ServedResource{GroupVersion: gv, Name: path}) {
				return
			}
		}
	}
	for _, path := range []string{"customresourcedefinitions", "customresourcedefinitions/status"} {
		if !yield(warnings.ServedResource{GroupVersion: apiextensionsv1.SchemeGroupVersion, Name: path}) {
			return
		}
	}
	definitions, err := c.crdBarrier.served.lister.List(labels.Everything())
	if err != nil {
		return // which an informer's store has none of
	}
	for _, crd := range definitions {
		for i := range crd.Spec.Versions {
			for _, path := range servedPaths(crd, &crd.Spec.Versions[i]) {
				gv := schema.GroupVersion{Group: crd.Spec.Group, Version: crd.Spec.Versions[i].Name}
				if !yield(warnings.ServedResource{GroupVersion: gv, Name: path}) {
					return
				}
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

// servedPaths are a custom resource and its subresources, if the version is served.
func servedPaths(crd *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion) []string {
	if !version.Served {
		return nil
	}
	paths := []string{crd.Spec.Names.Plural}
	if sub := version.Subresources; sub != nil && sub.Status != nil {
		paths = append(paths, crd.Spec.Names.Plural+"/status")
	}
	if sub := version.Subresources; sub != nil && sub.Scale != nil {
		paths = append(paths, crd.Spec.Names.Plural+"/scale")
	}
	return paths
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
