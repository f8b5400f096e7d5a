package resourcequota

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	quota "k8s.io/apiserver/pkg/quota/v1"
	resourcehelpers "k8s.io/component-helpers/resource"
	"k8s.io/utils/clock"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
)

// The prefixes of a resource's name in a quota.
const (
	requestPrefix = corev1.DefaultResourceRequestsPrefix
	limitPrefix   = "limits."
)

// computed are the resources that quotas count by requests and by limits. A name without a prefix counts requests, like
// the name with the prefix "requests.". If a quota counts a resource whose field required is true, each container must
// set that resource, unless the pod has resources of its own. This rule is kept for compatibility, so no further
// resource gets it.
var computed = []struct {
	name     corev1.ResourceName
	required bool
}{
	{corev1.ResourceCPU, true},
	{corev1.ResourceMemory, true},
	{corev1.ResourceEphemeralStorage, false},
}

// The names under which quotas count pods. podObjects counts all pods, livePods only the pods that haven't ended.
const (
	podObjects = corev1.ResourceName("count/pods")
	livePods   = corev1.ResourcePods
)

func pods(clock clock.PassiveClock) rules {
	return rules{
		counts: countedByPods,
		handles: func(a admission.Attributes) bool {
			switch a.GetSubresource() {
			case "":
				return a.GetOperation() == admission.Create || a.GetOperation() == admission.Update && changesTermination(a)
			case "resize":
				return a.GetOperation() == admission.Update
			}
			return false
		},
		constraints: podConstraints,
		scope:       podInScope,
		usage: func(object runtime.Object) (corev1.ResourceList, error) {
			pod, err := as[*corev1.Pod](object)
			if err != nil {
				return nil, err
			}
			return podUsage(pod, clock.Now()), nil
		},
	}
}

// changesTermination reports whether an update of a pod moves the pod from the scope NotTerminating to the scope
// Terminating, or back.
func changesTermination(a admission.Attributes) bool {
	pod, isPod := a.GetObject().(*corev1.Pod)
	old, wasPod := a.GetOldObject().(*corev1.Pod)
	return isPod && wasPod && isTerminating(pod) != isTerminating(old)
}

func countedByPods(name corev1.ResourceName) bool {
	if name == podObjects || name == livePods {
		return true
	}
	plain, isRequest := strings.CutPrefix(string(name), requestPrefix)
	unlimited, _ := strings.CutPrefix(string(name), limitPrefix)
	for _, c := range computed {
		if plain == string(c.name) || unlimited == string(c.name) {
			return true
		}
	}
	// Extended resources and huge pages can't be overcommitted, so quotas count only their requests.
	return strings.HasPrefix(plain, corev1.ResourceHugePagesPrefix) ||
		isRequest && (!podspec.IsNativeResource(name) || strings.HasPrefix(plain, resourcev1.ResourceDeviceClassPrefix))
}

// podConstraints returns an error if a quota counts the requests or the limits of CPU or memory, and a container
// doesn't set this request or limit. There is no error if the pod sets any resource for all containers, in
// spec.resources. The argument "required" has the names of the resources that the pod's quotas count.
func podConstraints(required []corev1.ResourceName, object runtime.Object) error {
	pod, err := as[*corev1.Pod](object)
	if err != nil {
		return err
	}
	if resourcehelpers.IsPodLevelResourcesSet(pod) {
		return nil
	}
	missing := map[corev1.ResourceName][]string{}
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			given := computeUsage(containers[i].Resources.Requests, containers[i].Resources.Limits)
			for _, name := range required {
				if _, ok := given[name]; !ok && mustBeGiven(name) {
					missing[name] = append(missing[name], containers[i].Name)
				}
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	var messages []string
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		slices.Sort(missing[name])
		messages = append(messages, fmt.Sprintf("%s for: %s", name, strings.Join(slices.Compact(missing[name]), ",")))
	}
	return fmt.Errorf("must specify %s", strings.Join(messages, "; "))
}

func mustBeGiven(name corev1.ResourceName) bool {
	for _, c := range computed {
		if c.required && (name == c.name || name == requestPrefix+c.name || name == limitPrefix+c.name) {
			return true
		}
	}
	return false
}

// podUsage returns the usage of a pod. A pod that has ended counts only in podObjects.
func podUsage(pod *corev1.Pod, now time.Time) corev1.ResourceList {
	usage := corev1.ResourceList{podObjects: *one()}
	if hasEnded(pod, now) {
		return usage
	}
	options := resourcehelpers.PodResourcesOptions{UseStatusResources: true}
	return quota.Add(usage, computeUsage(resourcehelpers.PodRequests(pod, options), resourcehelpers.PodLimits(pod, options)))
}

func hasEnded(pod *corev1.Pod, now time.Time) bool {
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return true
	}
	// If the node of a deleted pod is gone, the pod may exist long after its grace period. A quota doesn't count the
	// pod after that period.
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return false
	}
	return now.After(pod.DeletionTimestamp.Add(time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second))
}

// computeUsage returns requests and limits under the names that quotas have for them, and counts one pod as livePods.
func computeUsage(requests, limits corev1.ResourceList) corev1.ResourceList {
	usage := corev1.ResourceList{livePods: *one()}
	for _, c := range computed {
		if request, ok := requests[c.name]; ok {
			usage[c.name], usage[requestPrefix+c.name] = request, request
		}
		if limit, ok := limits[c.name]; ok {
			usage[limitPrefix+c.name] = limit
		}
	}
	for name, request := range requests {
		switch {
		case strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
			usage[name], usage[requestPrefix+name] = request, request
		case podspec.IsExtendedResource(name), strings.HasPrefix(string(name), resourcev1.ResourceDeviceClassPrefix):
			usage[requestPrefix+name] = request
		}
	}
	return usage
}

func podInScope(scope corev1.ScopedResourceSelectorRequirement, object runtime.Object) (bool, error) {
	pod, err := as[*corev1.Pod](object)
	if err != nil {
		return false, err
	}
	switch scope.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return isTerminating(pod), nil
	case corev1.ResourceQuotaScopeNotTerminating:
		return !isTerminating(pod), nil
	case corev1.ResourceQuotaScopeBestEffort:
		return isBestEffort(pod), nil
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !isBestEffort(pod), nil
	case corev1.ResourceQuotaScopePriorityClass:
		var names []string
		if pod.Spec.PriorityClassName != "" {
			names = []string{pod.Spec.PriorityClassName}
		}
		return selects(scope, names)
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return crossesNamespaces(pod.Spec.Affinity), nil
	}
	return false, nil
}

// isTerminating reports whether the pod has an activeDeadlineSeconds. The scope Terminating selects these pods.
func isTerminating(pod *corev1.Pod) bool {
	return pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds >= 0
}

// isBestEffort reports whether the pod has the QoS class BestEffort: it sets no requests and limits for CPU and memory.
// The scope BestEffort selects these pods.
func isBestEffort(pod *corev1.Pod) bool {
	return cmp.Or(pod.Status.QOSClass, podspec.QOSClass(pod)) == corev1.PodQOSBestEffort
}

// crossesNamespaces reports whether an affinity term of the pod names or selects namespaces. The scope
// CrossNamespacePodAffinity selects these pods.
func crossesNamespaces(affinity *corev1.Affinity) bool {
	if affinity == nil {
		return false
	}
	var terms []corev1.PodAffinityTerm
	var weighted []corev1.WeightedPodAffinityTerm
	if affinity.PodAffinity != nil {
		terms = append(terms, affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution...)
		weighted = append(weighted, affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	if affinity.PodAntiAffinity != nil {
		terms = append(terms, affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution...)
		weighted = append(weighted, affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	for _, w := range weighted {
		terms = append(terms, w.PodAffinityTerm)
	}
	return slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool {
		return len(t.Namespaces) > 0 || t.NamespaceSelector != nil
	})
}

func one() *resource.Quantity { return resource.NewQuantity(1, resource.DecimalSI) }
