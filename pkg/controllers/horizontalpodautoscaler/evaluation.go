package horizontalpodautoscaler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

// evaluation is the evaluation of an autoscaler at one time.
type evaluation struct {
	*controller
	key        cache.ObjectName
	memory     *memory
	autoscaler *autoscalingv2.HorizontalPodAutoscaler // has the new status
	now        time.Time

	resource schema.GroupResource
	scale    *autoscalingv1.Scale
	selector labels.Selector
	pods     []*corev1.Pod // the pods that selector selects
}

// set sets a condition.
func (e *evaluation) set(kind autoscalingv2.HorizontalPodAutoscalerConditionType, status corev1.ConditionStatus, reason, format string, args ...any) {
	conditions := &e.autoscaler.Status.Conditions
	i := slices.IndexFunc(*conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool { return c.Type == kind })
	if i < 0 {
		i = len(*conditions)
		*conditions = append(*conditions, autoscalingv2.HorizontalPodAutoscalerCondition{Type: kind})
	}
	condition := &(*conditions)[i]
	if condition.Status != status {
		condition.LastTransitionTime = metav1.NewTime(e.now)
	}
	condition.Status, condition.Reason, condition.Message = status, reason, fmt.Sprintf(format, args...)
}

// run scales the target of the autoscaler.
func (e *evaluation) run(ctx context.Context) error {
	if err := e.getScale(ctx); err != nil {
		e.Events.Warn(e.autoscaler, "FailedGetScale", "%v", err)
		e.set(autoscalingv2.AbleToScale, corev1.ConditionFalse, "FailedGetScale", "the HPA controller was unable to get the target's current scale: %v", err)
		return err
	}
	e.set(autoscalingv2.AbleToScale, corev1.ConditionTrue, "SucceededGetScale", "the HPA controller was able to get the target's current scale")
	current := e.scale.Spec.Replicas
	e.memory.begin(current, e.now)
	status := &e.autoscaler.Status
	status.CurrentReplicas, status.CurrentMetrics, status.ObservedGeneration = current, nil, new(e.autoscaler.Generation)
	desired, reason, err := e.decide(ctx)
	if desired < 0 {
		e.Events.Warn(e.autoscaler, "FailedComputeMetricsReplicas", "%v", err)
		return fmt.Errorf("failed to compute desired number of replicas based on listed metrics: %w", err)
	}
	if desired != current {
		if err := e.rescale(ctx, desired, reason); err != nil {
			return err
		}
		status.LastScaleTime = &metav1.Time{Time: e.now}
	}
	status.DesiredReplicas = desired
	return err
}

// getScale reads the scale of the target. A kind may belong to several resources; the first one with the target counts.
func (e *evaluation) getScale(ctx context.Context) error {
	ref := e.autoscaler.Spec.ScaleTargetRef
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return err
	}
	var mappings []*meta.RESTMapping
	if mappings, err = e.Mapper.RESTMappings(schema.GroupKind{Group: version.Group, Kind: ref.Kind}); err != nil {
		return err
	}
	first := errors.New("unrecognized resource")
	for i, mapping := range mappings {
		e.resource = mapping.Resource.GroupResource()
		if e.scale, err = e.Scales.Scales(e.key.Namespace).Get(ctx, e.resource, ref.Name, metav1.GetOptions{}); err == nil {
			return nil
		}
		if i == 0 {
			first = err
		}
	}
	return first
}

// decide returns the number of replicas that the target should have, and the reason. Some metrics may have failed although
// a number is returned. If all have, or if others would scale down, the number is negative.
func (e *evaluation) decide(ctx context.Context) (desired int32, reason string, err error) {
	spec, current := &e.autoscaler.Spec, e.scale.Spec.Replicas
	least := ptr.Deref(spec.MinReplicas, 1)
	scalesFromZero := e.wasScaledToZero() && (least != 0 || e.canScaleFromZero())
	switch {
	case current == 0 && !scalesFromZero:
		e.set(autoscalingv2.ScalingActive, corev1.ConditionFalse, "ScalingDisabled", "scaling is disabled since the replica count of the target is zero")
		return 0, "", nil
	case current > spec.MaxReplicas:
		return spec.MaxReplicas, "Current number of replicas above Spec.MaxReplicas", nil
	case current != 0 && current < least:
		return least, "Current number of replicas below Spec.MinReplicas", nil
	}
	desired, metric, err := e.proposeAll(ctx)
	switch {
	case desired < 0:
		return desired, "", err
	case desired > current:
		reason = metric + " above target"
	case desired < current:
		reason = "All metrics below target"
	}
	desired = e.limit(desired, least)
	if current == 0 && desired < least {
		desired = least
		if reason == "" {
			reason = "Current number of replicas below Spec.MinReplicas"
		}
	}
	return desired, reason, err
}

// canScaleFromZero reports whether a metric exists without pods.
func (e *evaluation) canScaleFromZero() bool {
	return slices.ContainsFunc(e.autoscaler.Spec.Metrics, func(metric autoscalingv2.MetricSpec) bool {
		return metric.Type == autoscalingv2.ObjectMetricSourceType || metric.Type == autoscalingv2.ExternalMetricSourceType
	})
}

// wasScaledToZero reports whether the controller, and no user, has set the number of replicas to zero.
func (e *evaluation) wasScaledToZero() bool {
	return slices.ContainsFunc(e.autoscaler.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
		return c.Type == autoscalingv2.ScaledToZero && c.Status == corev1.ConditionTrue
	})
}

// rescale sets the number of replicas of the target.
func (e *evaluation) rescale(ctx context.Context, desired int32, reason string) error {
	current, scales := e.scale.Spec.Replicas, e.Scales.Scales(e.key.Namespace)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		e.scale.Spec.Replicas = desired
		_, err := scales.Update(ctx, e.resource, e.scale, metav1.UpdateOptions{})
		if err != nil {
			if latest, getErr := scales.Get(ctx, e.resource, e.scale.Name, metav1.GetOptions{}); getErr == nil {
				e.scale = latest
			}
		}
		return err
	})
	if err != nil {
		e.Events.Warn(e.autoscaler, "FailedRescale", "New size: %d; reason: %s; error: %v", desired, reason, err)
		e.set(autoscalingv2.AbleToScale, corev1.ConditionFalse, "FailedUpdateScale", "the HPA controller was unable to update the target scale: %v", err)
		return fmt.Errorf("failed to rescale %s/%s: %w", e.autoscaler.Spec.ScaleTargetRef.Kind, e.scale.Name, err)
	}
	e.set(autoscalingv2.AbleToScale, corev1.ConditionTrue, "SucceededRescale", "the HPA controller was able to update the target scale to %d", desired)
	e.Events.Tell(e.autoscaler, "SuccessfulRescale", "New size: %d; reason: %s", desired, reason)
	e.memory.scaled(e.autoscaler.Spec.Behavior, current, desired, e.now)
	if desired == 0 && e.canScaleFromZero() && ptr.Deref(e.autoscaler.Spec.MinReplicas, 1) == 0 {
		e.set(autoscalingv2.ScaledToZero, corev1.ConditionTrue, "ScaledToZero", "the HPA controller scaled the workload to zero")
	} else {
		e.set(autoscalingv2.ScaledToZero, corev1.ConditionFalse, "NotScaledToZero", "the HPA controller did not scale the workload to zero")
	}
	return nil
}
