// Package resourcequota says how the ResourceQuota plugin of k8s.io/apiserver counts: what pods,
// services and claims, of volumes and of devices, use of a quota. Everything else is counted by the number of objects.
//
// What a quota limits is its status.hard, which a controller copies from its spec: where no such
// controller runs, a quota has no effect until its status is written.
package resourcequota

import (
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota/validation"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// Name is the plugin's name.
const Name = resourcequota.PluginName

// evaluators is how many quotas are written to at the same time, as in the reference.
const evaluators = 5

// New returns the plugin with its configuration, which may be nil.
func New(config io.Reader) (*resourcequota.QuotaAdmission, error) {
	configuration, err := resourcequota.LoadConfiguration(config)
	if err != nil {
		return nil, err
	}
	if errs := validation.ValidateConfiguration(configuration); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return resourcequota.NewResourceQuota(configuration, evaluators)
}

// ignored are not counted: what isn't stored, and events.
var ignored = []schema.GroupResource{
	{Resource: "bindings"},
	{Resource: "componentstatuses"},
	{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"},
	{Group: "authentication.k8s.io", Resource: "tokenreviews"},
	{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"},
	{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
	{Resource: "events"},
	{Group: "events.k8s.io", Resource: "events"},
}

// aliases are resources that were counted before there was "count/RESOURCE".
var aliases = map[string]corev1.ResourceName{
	"configmaps":             corev1.ResourceConfigMaps,
	"resourcequotas":         corev1.ResourceQuotas,
	"replicationcontrollers": corev1.ResourceReplicationControllers,
	"secrets":                corev1.ResourceSecrets,
}

// Configuration returns what the plugin counts. The lister finds the objects that a controller
// measures; admission itself needs none, and passes nil.
func Configuration(lister quota.ListerForResourceFunc) quota.Configuration {
	if lister == nil {
		lister = func(resource schema.GroupVersionResource) (cache.GenericLister, error) {
			return nil, fmt.Errorf("usage of %s is not measured here", resource.GroupResource())
		}
	}
	counted := []quota.Evaluator{
		&evaluator{resource: corev1.SchemeGroupVersion.WithResource("pods"), rules: pods(clock.RealClock{}), lister: lister},
		&evaluator{resource: corev1.SchemeGroupVersion.WithResource("services"), rules: services(), lister: lister},
		&evaluator{resource: corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), rules: claims(), lister: lister},
		&evaluator{resource: resourcev1.SchemeGroupVersion.WithResource("resourceclaims"), rules: deviceClaims(), lister: lister},
	}
	for name, alias := range aliases {
		resource := corev1.SchemeGroupVersion.WithResource(name)
		counted = append(counted, generic.NewObjectCountEvaluator(resource.GroupResource(), generic.ListResourceUsingListerFunc(lister, resource), alias))
	}
	ignore := make(map[schema.GroupResource]struct{}, len(ignored))
	for _, resource := range ignored {
		ignore[resource] = struct{}{}
	}
	return generic.NewConfiguration(counted, ignore)
}
