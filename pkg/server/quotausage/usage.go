// Package quotausage measures how much of each quota the objects of a namespace use, for the controller of
// ResourceQuotas.
//
// [NewMeter] is the constructor. Don't use the package for admission: pkg/admission/plugins/resourcequota measures
// single requests by the same rules.
package quotausage

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	resourcev1client "k8s.io/client-go/kubernetes/typed/resource/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/resourcequota"
)

// countPrefix begins the names of quota resources that count objects: count/RESOURCE.GROUP.
const countPrefix = "count/"

// Meter measures how much of a quota its namespace uses. It counts objects by list requests.
type Meter struct {
	Core     corev1client.CoreV1Interface
	Claims   resourcev1client.ResourceV1Interface
	Metadata metadata.Interface
	Mapper   meta.RESTMapper
}

// NewMeter returns a meter that makes its requests by a client configuration.
func NewMeter(config *rest.Config, mapper meta.RESTMapper) (*Meter, error) {
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	claims, err := resourcev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	partial, err := metadata.NewForConfig(config)
	return &Meter{core, claims, partial, mapper}, err
}

// Measure returns how much of a quota its namespace uses. If some resources can't be measured, it returns an error and
// the use of the other resources.
func (m *Meter) Measure(ctx context.Context, q *corev1.ResourceQuota) (corev1.ResourceList, error) {
	lister := func(resource schema.GroupVersionResource) (cache.GenericLister, error) {
		return lister{ctx: ctx, meter: m, resource: resource}, nil
	}
	configuration := resourcequota.Configuration(lister)
	registry := generic.NewRegistry(configuration.Evaluators())
	for name := range q.Spec.Hard {
		counted, ok := strings.CutPrefix(string(name), countPrefix)
		if !ok {
			continue
		}
		resource := schema.ParseGroupResource(counted)
		if _, ignored := configuration.IgnoredResources()[resource]; ignored || registry.Get(resource) != nil {
			continue
		}
		mapped, err := m.Mapper.ResourceFor(resource.WithVersion(""))
		if err != nil || mapped.GroupResource() != resource {
			continue // the quota counts objects of a resource that isn't served
		}
		registry.Add(generic.NewObjectCountEvaluator(resource, generic.ListResourceUsingListerFunc(lister, mapped), ""))
	}
	return quota.CalculateUsage(q.Namespace, q.Spec.Scopes, q.Spec.Hard, registry, q.Spec.ScopeSelector)
}

// lister lists the objects of a resource by a request.
type lister struct {
	ctx       context.Context
	meter     *Meter
	resource  schema.GroupVersionResource
	namespace string
}

var _ cache.GenericLister = lister{}

// ByNamespace implements cache.GenericLister.
func (l lister) ByNamespace(namespace string) cache.GenericNamespaceLister {
	l.namespace = namespace
	return l
}

// Get implements cache.GenericLister, and always fails: measuring uses only lists.
func (l lister) Get(string) (runtime.Object, error) {
	return nil, fmt.Errorf("the usage of %s is measured by lists: an object can't be read alone", l.resource.GroupResource())
}

// List implements cache.GenericLister. Objects whose fields decide how much of a quota they use, such as pods, have
// their Go type. Objects that are only counted have only their metadata.
func (l lister) List(labels.Selector) ([]runtime.Object, error) {
	clients := map[schema.GroupVersionResource]rest.Interface{
		corev1.SchemeGroupVersion.WithResource("pods"):                   l.meter.Core.RESTClient(),
		corev1.SchemeGroupVersion.WithResource("services"):               l.meter.Core.RESTClient(),
		corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"): l.meter.Core.RESTClient(),
		resourcev1.SchemeGroupVersion.WithResource("resourceclaims"):     l.meter.Claims.RESTClient(),
	}
	var list runtime.Object
	var err error
	if client, ok := clients[l.resource]; ok {
		list, err = client.Get().Namespace(l.namespace).Resource(l.resource.Resource).Do(l.ctx).Get()
	} else {
		list, err = l.meter.Metadata.Resource(l.resource).Namespace(l.namespace).List(l.ctx, metav1.ListOptions{})
	}
	if err != nil {
		return nil, err
	}
	return meta.ExtractList(list)
}
