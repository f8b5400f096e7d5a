// Package resourcequota has the rules by which ResourceQuotas count pods, services, persistent volume claims and
// resource claims. The plugin ResourceQuota of k8s.io/apiserver uses them. Other kinds are counted by their number
// of objects.
//
// A quota limits requests by its status.hard, which a controller copies from its spec. Without that controller, a
// quota has no effect until a client writes its status.
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

// Name is the plugin's name in flags and in files of configuration.
const Name = resourcequota.PluginName

// evaluators is the number of goroutines that update quotas. kube-apiserver has the same number.
const evaluators = 5

// New returns the plugin. The configuration may be nil.
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

// ignored are resources that no quota counts: events, and resources that aren't stored.
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

// aliases are the resources without rules that quotas also count under an older name, which doesn't have the form
// "count/RESOURCE".
var aliases = map[string]corev1.ResourceName{
	"configmaps":             corev1.ResourceConfigMaps,
	"resourcequotas":         corev1.ResourceQuotas,
	"replicationcontrollers": corev1.ResourceReplicationControllers,
	"secrets":                corev1.ResourceSecrets,
}

// Configuration returns the evaluators of all kinds with rules or an alias, and the resources that no quota counts. A
// controller passes a function that returns listers, to measure existing objects. Admission passes nil.
func Configuration(lister quota.ListerForResourceFunc) quota.Configuration {
	if lister == nil {
		lister = func(resource schema.GroupVersionResource) (cache.GenericLister, error) {
			return nil, fmt.Errorf("usage of %s can't be measured without listers", resource.GroupResource())
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
