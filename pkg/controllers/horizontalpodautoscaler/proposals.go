package horizontalpodautoscaler

import (
	"context"
	"errors"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
)

// proposal is the number of replicas that one metric proposes.
type proposal struct {
	replicas int32
	metric   string // describes the metric in messages
	status   autoscalingv2.MetricStatus
}

// proposeAll returns the greatest number of replicas that a metric proposes, and a description of the metric. If all
// metrics have failed, or if some have and the others would scale down, the number is negative.
func (e *evaluation) proposeAll(ctx context.Context) (replicas int32, metric string, err error) {
	if err := e.selectPods(); err != nil {
		return -1, "", err
	}
	metrics := e.autoscaler.Spec.Metrics
	statuses := make([]autoscalingv2.MetricStatus, len(metrics))
	e.autoscaler.Status.CurrentMetrics = statuses
	var reason string // of the first failure
	var first, wrapped error
	failures := 0
	for i, spec := range metrics {
		p, err := e.propose(ctx, spec)
		if err != nil {
			failed := failureOf(spec)
			e.Events.Warn(e.autoscaler, failed.reason, "%v", err)
			if failures++; failures == 1 {
				reason, first, wrapped = failed.reason, err, fmt.Errorf("%s: %w", failed.context, err)
			}
			continue
		}
		statuses[i] = p.status
		if replicas == 0 || p.replicas > replicas {
			replicas, metric = p.replicas, p.metric
		}
	}
	if failures > 0 {
		err = fmt.Errorf("invalid metrics (%v invalid out of %v), first error is: %w", failures, len(metrics), wrapped)
	}
	if failures >= len(metrics) || failures > 0 && replicas < e.scale.Spec.Replicas {
		e.set(autoscalingv2.ScalingActive, corev1.ConditionFalse, reason, "the HPA was unable to compute the replica count: %v", first)
		return -1, "", err
	}
	e.set(autoscalingv2.ScalingActive, corev1.ConditionTrue, "ValidMetricFound", "the HPA was able to successfully calculate a replica count from %s", metric)
	return replicas, metric, err
}

// selectPods determines the pods of the target. No other autoscaler may select them.
func (e *evaluation) selectPods() error {
	text := e.scale.Status.Selector
	if text == "" {
		e.Events.Warn(e.autoscaler, "SelectorRequired", "selector is required")
		e.set(autoscalingv2.ScalingActive, corev1.ConditionFalse, "InvalidSelector", "the HPA target's scale is missing a selector")
		return errors.New("selector is required")
	}
	refuse := func(reason string, err error) error {
		e.Events.Warn(e.autoscaler, reason, "%v", err)
		e.set(autoscalingv2.ScalingActive, corev1.ConditionFalse, reason, "%v", err)
		return err
	}
	var err error
	if e.selector, err = labels.Parse(text); err != nil {
		return refuse("InvalidSelector", fmt.Errorf("couldn't convert selector into a corresponding internal selector object: %w", err))
	}
	var sets []labels.Set
	if err := cache.ListAllByNamespace(e.Pods.GetIndexer(), e.key.Namespace, e.selector, func(obj any) {
		if pod, ok := obj.(*corev1.Pod); ok {
			e.pods, sets = append(e.pods, pod), append(sets, pod.Labels)
		}
	}); err != nil {
		return err
	}
	if autoscalers := e.selectedBy(e.key, e.selector, sets); len(autoscalers) > 1 {
		return refuse("AmbiguousSelector", fmt.Errorf("pods by selector %v are controlled by more than one HPA (e.g. %v)", text, autoscalers))
	}
	return nil
}

// failure describes the failure of a metric: the reason of the event and of the condition, and the context of the error.
type failure struct{ reason, context string }

func failureOf(spec autoscalingv2.MetricSpec) failure {
	switch spec.Type {
	case autoscalingv2.ObjectMetricSourceType:
		f := failure{"FailedGetObjectMetric", "failed to get object metric value"}
		if spec.Object.Target.Type == autoscalingv2.AverageValueMetricType {
			f.context += fmt.Sprintf(": failed to get %s object metric", spec.Object.Metric.Name)
		}
		return f
	case autoscalingv2.PodsMetricSourceType:
		return failure{"FailedGetPodsMetric", "failed to get pods metric value"}
	case autoscalingv2.ResourceMetricSourceType:
		return failure{"FailedGetResourceMetric", fmt.Sprintf("failed to get %s resource metric value", spec.Resource.Name)}
	case autoscalingv2.ContainerResourceMetricSourceType:
		return failure{"FailedGetContainerResourceMetric", fmt.Sprintf("failed to get %s container metric value", spec.ContainerResource.Container)}
	case autoscalingv2.ExternalMetricSourceType:
		name := spec.External.Metric.Name
		if spec.External.Target.AverageValue != nil {
			return failure{"FailedGetExternalMetric", fmt.Sprintf("failed to get %s external metric value: failed to get %s external metric", name, name)}
		}
		return failure{"FailedGetExternalMetric", fmt.Sprintf("failed to get %s external metric value: failed to get external metric %s", name, name)}
	}
	return failure{"InvalidMetricSourceType", "invalid metric"}
}

// propose returns the number of replicas that a metric proposes.
func (e *evaluation) propose(ctx context.Context, spec autoscalingv2.MetricSpec) (p proposal, err error) {
	p.status.Type = spec.Type
	switch spec.Type {
	case autoscalingv2.ResourceMetricSourceType:
		source := spec.Resource
		p.status.Resource = &autoscalingv2.ResourceMetricStatus{Name: source.Name}
		p.metric = fmt.Sprintf("%s resource utilization (percentage of request)", source.Name)
		p.replicas, err = e.proposeResource(ctx, source.Target, source.Name, "", &p.metric, &p.status.Resource.Current)
	case autoscalingv2.ContainerResourceMetricSourceType:
		source := spec.ContainerResource
		p.status.ContainerResource = &autoscalingv2.ContainerResourceMetricStatus{Name: source.Name, Container: source.Container}
		p.metric = fmt.Sprintf("%s container resource utilization (percentage of request)", source.Name)
		p.replicas, err = e.proposeResource(ctx, source.Target, source.Name, source.Container, &p.metric, &p.status.ContainerResource.Current)
	case autoscalingv2.PodsMetricSourceType:
		p.status.Pods = &autoscalingv2.PodsMetricStatus{Metric: spec.Pods.Metric}
		p.metric = "pods metric " + spec.Pods.Metric.Name
		p.replicas, err = e.proposePods(spec.Pods, &p.status.Pods.Current)
	case autoscalingv2.ObjectMetricSourceType:
		source := spec.Object
		p.status.Object = &autoscalingv2.ObjectMetricStatus{DescribedObject: source.DescribedObject, Metric: source.Metric}
		p.metric = fmt.Sprintf("%s metric %s", source.DescribedObject.Kind, source.Metric.Name)
		if source.Target.Type == autoscalingv2.AverageValueMetricType {
			p.metric = describe(source.Metric)
		}
		p.replicas, err = e.proposeObject(source, &p.status.Object.Current)
	case autoscalingv2.ExternalMetricSourceType:
		p.status.External = &autoscalingv2.ExternalMetricStatus{Metric: spec.External.Metric}
		p.metric = describe(spec.External.Metric)
		p.replicas, err = e.proposeExternal(spec.External, &p.status.External.Current)
	default:
		err = fmt.Errorf("unknown metric source type %q", string(spec.Type))
	}
	return p, err
}

func describe(metric autoscalingv2.MetricIdentifier) string {
	return fmt.Sprintf("external metric %s(%+v)", metric.Name, metric.Selector)
}

// proposeResource proposes a number of replicas by the use of a resource.
func (e *evaluation) proposeResource(ctx context.Context, target autoscalingv2.MetricTarget, name corev1.ResourceName, container string,
	metric *string, status *autoscalingv2.MetricValueStatus) (int32, error) {
	if target.AverageValue == nil && target.AverageUtilization == nil {
		return 0, errors.New("invalid resource metric source: neither an average utilization target nor an average value (usage) target was set")
	}
	fail := func(what string, err error) (int32, error) {
		return 0, fmt.Errorf("failed to get %s %s: %w", name, what, err)
	}
	what := "utilization"
	if target.AverageValue != nil {
		what, *metric = "usage", fmt.Sprintf("%s resource", name)
	}
	values, err := e.Metrics.resource(ctx, name, e.key.Namespace, e.selector, container)
	if err != nil {
		return fail(what, fmt.Errorf("unable to get metrics for resource %s: %w", name, err))
	}
	var by measure
	if target.AverageValue != nil {
		by = byValue(target.AverageValue.MilliValue())
	} else if by, err = byUtilization(e.pods, *target.AverageUtilization, name, container); err != nil {
		// The requests of pods are missing. The lack of pods or of values is reported first.
		if _, _, lacking := e.byPods(values, name, byValue(1)); lacking != nil {
			err = lacking
		}
		return fail(what, err)
	}
	replicas, used, err := e.byPods(values, name, by)
	if err != nil {
		return fail(what, err)
	}
	format := resource.DecimalSI
	if name == corev1.ResourceMemory {
		format = resource.BinarySI
	}
	status.AverageValue = resource.NewMilliQuantity(used.value, format)
	if target.AverageValue == nil {
		status.AverageUtilization = &used.utilization
	}
	return replicas, nil
}

// proposePods proposes a number of replicas by a metric of the pods.
func (e *evaluation) proposePods(source *autoscalingv2.PodsMetricSource, status *autoscalingv2.MetricValueStatus) (int32, error) {
	selector, err := metav1.LabelSelectorAsSelector(source.Metric.Selector)
	if err != nil {
		return 0, err
	}
	values, err := e.Metrics.ofPods(source.Metric.Name, e.key.Namespace, e.selector, selector)
	if err != nil {
		return 0, fmt.Errorf("unable to get metric %s: %w", source.Metric.Name, err)
	}
	replicas, used, err := e.byPods(values, "", byValue(source.Target.AverageValue.MilliValue()))
	if err != nil {
		return 0, err
	}
	status.AverageValue = milli(used.value)
	return replicas, nil
}

// proposeObject proposes a number of replicas by a metric of an object.
func (e *evaluation) proposeObject(source *autoscalingv2.ObjectMetricSource, status *autoscalingv2.MetricValueStatus) (int32, error) {
	selector, err := metav1.LabelSelectorAsSelector(source.Metric.Selector)
	if err != nil {
		return 0, err
	}
	value, err := e.Metrics.ofObject(source.Metric.Name, e.key.Namespace, source.DescribedObject, selector)
	if err != nil {
		return 0, fmt.Errorf("unable to get metric %s on %s %s/%s: %w", source.Metric.Name, source.DescribedObject.Kind, e.key.Namespace, source.DescribedObject.Name, err)
	}
	return e.byTotal(value, source.Target, status)
}

// proposeExternal proposes a number of replicas by a metric that belongs to no object.
func (e *evaluation) proposeExternal(source *autoscalingv2.ExternalMetricSource, status *autoscalingv2.MetricValueStatus) (int32, error) {
	selector, err := metav1.LabelSelectorAsSelector(source.Metric.Selector)
	if err != nil {
		return 0, err
	}
	value, err := e.Metrics.external(source.Metric.Name, e.key.Namespace, selector)
	if err != nil {
		return 0, fmt.Errorf("unable to get external metric %s/%s/%+v: %w", e.key.Namespace, source.Metric.Name, source.Metric.Selector, err)
	}
	return e.byTotal(value, source.Target, status)
}

func milli(value int64) *resource.Quantity {
	return resource.NewMilliQuantity(value, resource.DecimalSI)
}
