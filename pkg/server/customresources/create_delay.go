package customresources

import (
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/server/customresources/serving"
)

// serveAtOnce removes the library's delay of create requests (see serving.OtherServersDelay) if no other server uses the
// same etcd. The server's informer then shows a new definition with an older time of establishment. The stored definition
// stays unchanged: see keepEstablished.
func serveAtOnce(crd *apiextensionsv1.CustomResourceDefinition, alone func() bool) {
	age(crd, time.Now().Add(-serving.OtherServersDelay), alone)
}

// age sets the time of the condition Established of a definition to latest, in whole seconds, if the time is after
// latest. If another server uses the same etcd, age changes nothing.
func age(crd *apiextensionsv1.CustomResourceDefinition, latest time.Time, alone func() bool) {
	for i := range crd.Status.Conditions {
		condition := &crd.Status.Conditions[i]
		if condition.Type == apiextensionsv1.Established && condition.LastTransitionTime.After(latest) && alone() {
			condition.LastTransitionTime.Time = latest.Truncate(time.Second)
		}
	}
}

// keepEstablished keeps the stored time of the condition Established when a controller writes a definition. The
// controller has the older time that serveAtOnce has set.
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
