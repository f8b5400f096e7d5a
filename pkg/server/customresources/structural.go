package customresources

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	"k8s.io/client-go/tools/cache"
)

// loose is an informer of definitions for one controller of the library. The controller reports schemas that aren't
// structural. For each event, it would convert and compare all schemas of a definition. So loose drops the events of
// definitions that mayBeLoose returns false for.
type loose struct {
	crdinformers.CustomResourceDefinitionInformer
}

// Informer implements crdinformers.CustomResourceDefinitionInformer.
func (l loose) Informer() cache.SharedIndexInformer {
	return looseInformer{l.CustomResourceDefinitionInformer.Informer()}
}

type looseInformer struct{ cache.SharedIndexInformer }

// AddEventHandler implements cache.SharedInformer.
func (l looseInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return l.SharedIndexInformer.AddEventHandler(cache.FilteringResourceEventHandler{
		FilterFunc: func(obj any) bool {
			crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
			return !ok || mayBeLoose(crd)
		},
		Handler: handler,
	})
}

// mayBeLoose tells whether a definition may have a schema that isn't structural, or was reported to have one. Only a
// definition that preserves unknown fields may have such a schema. The API apiextensions.k8s.io/v1 refuses to create
// such a definition, but etcd may still have one from before v1.
func mayBeLoose(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd.Spec.PreserveUnknownFields || slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.NonStructuralSchema
	})
}
