package horizontalpodautoscaler

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	podresources "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

const (
	// tolerance is the relative difference from a target that causes no change, unless the autoscaler says otherwise.
	tolerance = 0.1
	// The use of CPU by a pod that isn't ready doesn't count in the first startPeriod of the pod, nor if the pod has never
	// been ready, which the readiness in the first readyPeriod says.
	startPeriod = 5 * time.Minute
	readyPeriod = 30 * time.Second
)

// isTolerated reports whether a ratio of use and target is near enough to 1.
func (e *evaluation) isTolerated(ratio float64) bool {
	down, up := tolerance, tolerance
	if behavior := e.autoscaler.Spec.Behavior; behavior != nil {
		if rules := behavior.ScaleDown; rules != nil && rules.Tolerance != nil {
			down = rules.Tolerance.AsApproximateFloat64()
		}
		if rules := behavior.ScaleUp; rules != nil && rules.Tolerance != nil {
			up = rules.Tolerance.AsApproximateFloat64()
		}
	}
	return 1-down <= ratio && ratio <= 1+up
}

// byTotal returns the number of replicas for a value that belongs to all pods together.
func (e *evaluation) byTotal(value int64, target autoscalingv2.MetricTarget, status *autoscalingv2.MetricValueStatus) (int32, error) {
	if target.AverageValue != nil && target.Type != autoscalingv2.ValueMetricType {
		each, replicas := float64(target.AverageValue.MilliValue()), e.scale.Status.Replicas
		if !e.isTolerated(float64(value) / (each * float64(replicas))) {
			replicas = roundUp(float64(value) / each)
		}
		n := int64(max(1, e.scale.Status.Replicas))
		average := value / n
		if value%n > 0 {
			average++
		}
		status.AverageValue = milli(average)
		return replicas, nil
	}
	ratio := float64(value) / float64(target.Value.MilliValue())
	status.Value = milli(value)
	switch current := e.scale.Spec.Replicas; {
	case current == 0:
		return roundUp(ratio), nil
	case e.isTolerated(ratio):
		return current, nil
	case len(e.pods) == 0:
		return 0, errors.New("unable to calculate ready pods: no pods returned by selector while calculating replica count")
	}
	ready := 0
	for _, pod := range e.pods {
		if pod.Status.Phase == corev1.PodRunning && owned.IsReady(pod) {
			ready++
		}
	}
	return roundUp(ratio * float64(ready)), nil
}

func roundUp(replicas float64) int32 { return int32(min(math.Ceil(replicas), math.MaxInt32)) }

// use is what pods use of a target.
type use struct {
	ratio       float64 // of the use and the target
	value       int64   // the average of the pods
	utilization int32   // the percentage of the requests
}

// measure compares the values of pods with a target.
type measure struct {
	of func(samples) (use, error)
	// whole returns the value with which a pod without a value reaches the target.
	whole func(pod string) int64
}

// byValue measures by an average value.
func byValue(target int64) measure {
	return measure{
		of: func(values samples) (use, error) {
			var sum int64
			for _, s := range values {
				sum += s.value
			}
			average := sum / int64(len(values))
			return use{ratio: float64(average) / float64(target), value: average}, nil
		},
		whole: func(string) int64 { return target },
	}
}

// byUtilization measures by the percentage of the pods' requests.
func byUtilization(pods []*corev1.Pod, target int32, name corev1.ResourceName, container string) (measure, error) {
	requests := map[string]int64{}
	for _, pod := range pods {
		var err error
		if requests[pod.Name], err = requestOf(pod, name, container); err != nil {
			return measure{}, err
		}
	}
	return measure{
		of: func(values samples) (use, error) {
			var used, requested, n int64
			for pod, s := range values {
				if request, known := requests[pod]; known {
					used, requested, n = used+s.value, requested+request, n+1
				}
			}
			if requested == 0 {
				return use{}, errors.New("no metrics returned matched known pods")
			}
			percent := int32(used * 100 / requested)
			return use{float64(percent) / float64(target), used / n, percent}, nil
		},
		whole: func(pod string) int64 { return requests[pod] * int64(max(100, target)) / 100 },
	}, nil
}

// requestOf returns the request of a pod, or of its container if container isn't "".
func requestOf(pod *corev1.Pod, name corev1.ResourceName, container string) (sum int64, err error) {
	if container == "" && podresources.IsPodLevelRequestsSet(pod) {
		request, ok := podresources.PodRequests(pod, podresources.PodResourcesOptions{})[name]
		if !ok {
			return 0, fmt.Errorf("missing pod-level request for %s in Pod %s", name, pod.Name)
		}
		return request.MilliValue(), nil
	}
	containers := slices.Clone(pod.Spec.Containers)
	for _, c := range pod.Spec.InitContainers {
		if ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways {
			containers = append(containers, c)
		}
	}
	found := container == ""
	for _, c := range containers {
		if container != "" && container != c.Name {
			continue
		}
		request, ok := c.Resources.Requests[name]
		if !ok {
			return 0, fmt.Errorf("missing request for %s in container %s of Pod %s", name, c.Name, pod.Name)
		}
		found = true
		sum += request.MilliValue()
	}
	if !found {
		return 0, fmt.Errorf("container %s not found in Pod %s", container, pod.Name)
	}
	return sum, nil
}

// byPods returns the number of replicas for values of pods. The use is that of the ready pods. Pods that aren't ready, or
// have no value, make the change smaller: on the way up, they count as unused, and on the way down, pods without a value
// count as used as far as the target says. They never reverse the direction.
func (e *evaluation) byPods(values samples, name corev1.ResourceName, by measure) (replicas int32, used use, err error) {
	if len(e.pods) == 0 {
		return 0, use{}, errors.New("no pods returned by selector while calculating replica count")
	}
	ready, unready, missing := e.group(values, name)
	if len(values) == 0 {
		return 0, use{}, errors.New("did not receive metrics for targeted pods (pods might be unready)")
	}
	if used, err = by.of(values); err != nil {
		return 0, use{}, err
	}
	current, up, down := e.scale.Spec.Replicas, used.ratio > 1, used.ratio < 1
	if !up {
		unready = nil
	}
	if len(unready)+len(missing) == 0 {
		if e.isTolerated(used.ratio) {
			return current, used, nil
		}
		return roundUp(used.ratio * float64(ready)), used, nil
	}
	for _, pod := range missing {
		switch {
		case down:
			values[pod] = sample{value: by.whole(pod)}
		case up:
			values[pod] = sample{}
		}
	}
	for _, pod := range unready {
		values[pod] = sample{}
	}
	all, err := by.of(values)
	if err != nil {
		return 0, use{}, err
	}
	replicas = roundUp(all.ratio * float64(len(values)))
	if e.isTolerated(all.ratio) || down && all.ratio > 1 || up && all.ratio < 1 ||
		all.ratio < 1 && replicas > current || all.ratio > 1 && replicas < current {
		return current, used, nil
	}
	return replicas, used, nil
}

// group counts the ready pods, and returns the names of the pods that aren't ready, and of those without a value. It
// removes the values of pods that aren't ready or have ended.
func (e *evaluation) group(values samples, name corev1.ResourceName) (ready int, unready, missing []string) {
	for _, pod := range e.pods {
		s, found := values[pod.Name]
		switch {
		case pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed:
			delete(values, pod.Name)
		case pod.Status.Phase == corev1.PodPending, found && name == corev1.ResourceCPU && !e.countsCPU(pod, s):
			delete(values, pod.Name)
			unready = append(unready, pod.Name)
		case !found:
			missing = append(missing, pod.Name)
		default:
			ready++
		}
	}
	return ready, unready, missing
}

// countsCPU reports whether the use of CPU by a pod counts. Much of it may be for the start of the pod.
func (e *evaluation) countsCPU(pod *corev1.Pod, s sample) bool {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
	if i < 0 || pod.Status.StartTime == nil {
		return false
	}
	condition, start := pod.Status.Conditions[i], pod.Status.StartTime
	if start.Add(startPeriod).After(e.now) {
		return condition.Status != corev1.ConditionFalse && !s.at.Before(condition.LastTransitionTime.Add(s.window))
	}
	return condition.Status != corev1.ConditionFalse || !start.Add(readyPeriod).After(condition.LastTransitionTime.Time)
}
