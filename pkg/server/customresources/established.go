package customresources

import (
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// otherServersDelay is the time for which the library delays each create of a custom resource after its definition
// is established, because other servers of the cluster may not have seen the definition yet.
const otherServersDelay = 2 * time.Second

// serveAtOnce spares the only server of a cluster that delay. While the server is alone, its informer shows new
// definitions as older than they are. The stored definitions stay unchanged: see keepEstablished.
func serveAtOnce(crd *apiextensionsv1.CustomResourceDefinition, alone func() bool) {
	age(crd, time.Now().Add(-otherServersDelay), alone)
}

// age makes the condition of a definition that was established after the time as old as that time.
func age(crd *apiextensionsv1.CustomResourceDefinition, latest time.Time, alone func() bool) {
	for i := range crd.Status.Conditions {
		condition := &crd.Status.Conditions[i]
		if condition.Type == apiextensionsv1.Established && condition.LastTransitionTime.After(latest) && alone() {
			condition.LastTransitionTime.Time = latest.Truncate(time.Second)
		}
	}
}

// keepEstablished keeps the stored time of the condition Established, in place of the one that a controller has
// from the informer.
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
