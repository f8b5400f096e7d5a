package horizontalpodautoscaler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	custommetrics "k8s.io/metrics/pkg/client/custom_metrics"
	externalmetrics "k8s.io/metrics/pkg/client/external_metrics"
)

// Metrics reads the APIs of metrics.
type Metrics struct {
	Resources metricsclient.PodMetricsesGetter
	Custom    custommetrics.CustomMetricsClient
	// CustomAPIs remembers the version of the API of custom metrics.
	CustomAPIs custommetrics.AvailableAPIsGetter
	External   externalmetrics.ExternalMetricsClient
}

// NewMetrics returns clients of the APIs of metrics.
func NewMetrics(config *rest.Config, mapper meta.RESTMapper, served discovery.DiscoveryInterface) (Metrics, error) {
	resources, err := metricsclient.NewForConfig(config)
	if err != nil {
		return Metrics{}, err
	}
	external, err := externalmetrics.NewForConfig(config)
	if err != nil {
		return Metrics{}, err
	}
	apis := custommetrics.NewAvailableAPIsGetter(served)
	return Metrics{Resources: resources, Custom: custommetrics.NewForConfig(config, mapper, apis), CustomAPIs: apis, External: external}, nil
}

// sample is a value of one pod, in thousandths.
type sample struct {
	value  int64
	at     time.Time
	window time.Duration // the time over which the value was measured
}

// samples has the values of pods, by their names.
type samples map[string]sample

// resource returns the use of a resource by the pods, or by their container if container isn't "".
func (m Metrics) resource(ctx context.Context, name corev1.ResourceName, namespace string, selector labels.Selector, container string) (samples, error) {
	list, err := m.Resources.PodMetricses(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, fmt.Errorf("unable to fetch metrics from resource metrics API: %w", err)
	}
	if len(list.Items) == 0 {
		return nil, errors.New("no metrics returned from resource metrics API")
	}
	found := samples{}
	for _, pod := range list.Items {
		if use, ok := useOf(pod.Containers, name, container); ok {
			found[pod.Name] = sample{use, pod.Timestamp.Time, pod.Window.Duration}
		}
	}
	return found, nil
}

// useOf returns the sum of the containers' use of a resource. If only is a container's name, only this container counts.
// useOf returns false if the use of a container is unknown.
func useOf(containers []metricsv1beta1.ContainerMetrics, name corev1.ResourceName, only string) (use int64, known bool) {
	for _, container := range containers {
		if only != "" && container.Name != only {
			continue
		}
		quantity, ok := container.Usage[name]
		if !ok {
			return 0, false
		}
		use, known = use+quantity.MilliValue(), true
	}
	return use, known
}

// ofPods returns the values of a custom metric of pods.
func (m Metrics) ofPods(metric, namespace string, selector, metricSelector labels.Selector) (samples, error) {
	m.CustomAPIs.Invalidate()
	list, err := m.Custom.NamespacedMetrics(namespace).GetForObjects(schema.GroupKind{Kind: "Pod"}, selector, metric, metricSelector)
	if err != nil {
		return nil, fmt.Errorf("unable to fetch metrics from custom metrics API: %w", err)
	}
	if len(list.Items) == 0 {
		return nil, errors.New("no metrics returned from custom metrics API")
	}
	found := samples{}
	for _, item := range list.Items {
		window := time.Minute
		if item.WindowSeconds != nil {
			window = time.Duration(*item.WindowSeconds) * time.Second
		}
		found[item.DescribedObject.Name] = sample{item.Value.MilliValue(), item.Timestamp.Time, window}
	}
	return found, nil
}

// ofObject returns the value of a custom metric of an object. The object may also be the namespace.
func (m Metrics) ofObject(metric, namespace string, object autoscalingv2.CrossVersionObjectReference, metricSelector labels.Selector) (int64, error) {
	m.CustomAPIs.Invalidate()
	kind := schema.FromAPIVersionAndKind(object.APIVersion, object.Kind).GroupKind()
	client, name := m.Custom.NamespacedMetrics(namespace), object.Name
	if kind == (schema.GroupKind{Kind: "Namespace"}) {
		client, name = m.Custom.RootScopedMetrics(), namespace
	}
	value, err := client.GetForObject(kind, name, metric, metricSelector)
	if err != nil {
		return 0, fmt.Errorf("unable to fetch metrics from custom metrics API: %w", err)
	}
	return value.Value.MilliValue(), nil
}

// external returns the sum of the values of an external metric.
func (m Metrics) external(metric, namespace string, metricSelector labels.Selector) (sum int64, err error) {
	list, err := m.External.NamespacedMetrics(namespace).List(metric, metricSelector)
	if err != nil {
		return 0, fmt.Errorf("unable to fetch metrics from external metrics API: %w", err)
	}
	if len(list.Items) == 0 {
		return 0, errors.New("no metrics returned from external metrics API")
	}
	for _, item := range list.Items {
		value := item.Value.MilliValue()
		if value > 0 && sum > math.MaxInt64-value {
			return math.MaxInt64, nil
		}
		sum += value
	}
	return sum, nil
}
