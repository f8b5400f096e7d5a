package customresources

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// serveAtOnce removes the library's delay of create requests (see serving.OtherServersDelay) if no other server uses the
// same etcd. The server's informer then shows no time of establishment, whatever happens to the system's clock. The stored
// definition stays unchanged: see keepEstablished.
func serveAtOnce(crd *apiextensionsv1.CustomResourceDefinition, alone func() bool) {
	for i := range crd.Status.Conditions {
		if condition := &crd.Status.Conditions[i]; condition.Type == apiextensionsv1.Established && alone() {
			condition.LastTransitionTime = metav1.Time{}
		}
	}
}

// keepEstablished keeps the stored time of the condition Established when a controller writes a definition. The
// controller has the definition of the informer, which has no such time if serveAtOnce has removed it.
func keepEstablished(existing, updated runtime.Object) {
	was, now := established(existing), established(updated)
	if was != nil && now != nil && was.Status == now.Status {
		now.LastTransitionTime = was.LastTransitionTime
	}
}

func established(obj runtime.Object) *apiextensions.CustomResourceDefinitionCondition {
	crd, ok := obj.(*apiextensions.CustomResourceDefinition)
	if !ok || crd == nil {
		return nil
	}
	return apiextensions.FindCRDCondition(crd, apiextensions.Established)
}
