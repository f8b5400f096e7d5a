package server

import (
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/tools/cache"
)

// otherServersDelay is for how long the library lets each create of a custom resource
// wait after its definition is established: other servers of the cluster may not have
// seen it yet.
const otherServersDelay = 2 * time.Second

// serveAtOnce spares the only server of a cluster that wait: its informer takes new
// definitions for older ones. What is stored is as it is.
func serveAtOnce(definitions cache.SharedIndexInformer) error {
	return definitions.SetTransform(func(obj any) (any, error) {
		crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
		if !ok {
			return obj, nil
		}
		for i := range crd.Status.Conditions {
			condition := &crd.Status.Conditions[i]
			past := time.Now().Add(-otherServersDelay)
			if condition.Type == apiextensionsv1.Established && condition.LastTransitionTime.After(past) {
				condition.LastTransitionTime.Time = past.Truncate(time.Second)
			}
		}
		return crd, nil
	})
}
