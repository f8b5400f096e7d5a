package pod

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

func validatePodStatusUpdate(pod, old *corev1.Pod) field.ErrorList {
	f := validation.Updated(&pod.ObjectMeta, &old.ObjectMeta)
	s, was := &pod.Status, &old.Status
	f.Merge(
		podAnnotationsUpdate(validation.MetadataPath.Child("annotations"), pod, old),
		podConditions(validation.StatusPath.Child("conditions"), s.Conditions))
	f.AddIf(pod.Spec.NodeName != old.Spec.NodeName, field.Forbidden(validation.StatusPath.Child("nodeName"), "may not be changed directly"))
	f.Merge(nomination(validation.StatusPath.Child("nominatedNodeName"), s.NominatedNodeName, old))
	f.AddIf(s.ObservedGeneration < 0, field.Invalid(validation.StatusPath.Child("observedGeneration"), s.ObservedGeneration, "must be a non-negative integer"))
	f.Merge(
		validation.Unchanged(validation.StatusPath.Child("qosClass"), s.QOSClass, was.QOSClass),
		staysTerminated(validation.StatusPath.Child("containerStatuses"), s.ContainerStatuses, was.ContainerStatuses, restarts(&old.Spec, old.Spec.Containers)),
		staysTerminated(validation.StatusPath.Child("initContainerStatuses"), s.InitContainerStatuses, was.InitContainerStatuses, restarts(&old.Spec, old.Spec.InitContainers)),
		staysTerminated(validation.StatusPath.Child("ephemeralContainerStatuses"), s.EphemeralContainerStatuses, was.EphemeralContainerStatuses,
			func(string, int32) bool { return false }),
		claimStatuses(validation.StatusPath.Child("resourceClaimStatuses"), s.ResourceClaimStatuses, pod.Spec.ResourceClaims),
		extendedClaimStatus(validation.StatusPath.Child("extendedResourceClaimStatus"), s.ExtendedResourceClaimStatus, &pod.Spec),
		podIPs(validation.StatusPath.Child("podIPs"), s, was),
		hostIPs(validation.StatusPath.Child("hostIPs"), s, was))
	lists := []struct {
		name       string
		statuses   []corev1.ContainerStatus
		containers []corev1.Container
	}{
		{"containerStatuses", s.ContainerStatuses, pod.Spec.Containers},
		{"initContainerStatuses", s.InitContainerStatuses, pod.Spec.InitContainers},
		{"ephemeralContainerStatuses", s.EphemeralContainerStatuses, nil},
	}
	for _, list := range lists {
		f.Merge(statusUsers(validation.StatusPath.Child(list.name), list.statuses, podspec.IsWindows(&pod.Spec)))
	}
	for _, list := range lists {
		f.Merge(allocations(validation.StatusPath.Child(list.name), list.statuses, list.containers, list.name == "ephemeralContainerStatuses"))
	}
	return f.Errs
}

// podConditions checks the types of conditions, which must be qualified names, and their observedGeneration.
func podConditions(path *field.Path, conditions []corev1.PodCondition) field.ErrorList {
	var f validation.Findings
	for i, c := range conditions {
		f.AddIf(c.ObservedGeneration < 0, field.Invalid(path.Index(i).Child("observedGeneration"), c.ObservedGeneration, "must be a non-negative integer"))
		switch c.Type {
		case corev1.PodScheduled, corev1.PodReady, corev1.PodInitialized:
		default:
			f.Merge(validation.Qualified(path.Index(i).Child("Type"), string(c.Type)))
		}
	}
	return f.Errs
}

// nomination checks nominatedNodeName. An update can't set it for a pod that has a node.
func nomination(path *field.Path, node string, old *corev1.Pod) field.ErrorList {
	if node == "" || node == old.Status.NominatedNodeName {
		return nil
	}
	errs := validation.Follows(validation.ObjectName, path, node)
	if old.Spec.NodeName != "" {
		errs = append(errs, field.Forbidden(path, "may not be set on pods that are already bound to a node"))
	}
	return errs
}

// restarts returns a function that reports whether a container may restart after it has ended with an exit code.
func restarts(spec *corev1.PodSpec, containers []corev1.Container) func(string, int32) bool {
	all := false
	for _, c := range podspec.Containers(spec, nil) {
		all = all || slices.ContainsFunc(c.RestartPolicyRules, func(r corev1.ContainerRestartRule) bool {
			return r.Action == corev1.ContainerRestartRuleActionRestartAllContainers
		})
	}
	return func(name string, code int32) bool {
		i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == name })
		return all || i >= 0 && restartsAfter(&containers[i], spec.RestartPolicy, code)
	}
}

func restartsAfter(c *corev1.Container, podPolicy corev1.RestartPolicy, code int32) bool {
	for _, r := range c.RestartPolicyRules {
		if c.RestartPolicy == nil || r.ExitCodes == nil || r.Action != corev1.ContainerRestartRuleActionRestart {
			continue
		}
		in := r.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn
		if slices.Contains(r.ExitCodes.Values, code) == in {
			return true
		}
	}
	switch ptr.Deref(c.RestartPolicy, corev1.ContainerRestartPolicy(podPolicy)) {
	case corev1.ContainerRestartPolicyNever:
		return false
	case corev1.ContainerRestartPolicyOnFailure:
		return code != 0
	}
	return true
}

// staysTerminated checks that a container that has ended doesn't run again, unless its restart policy allows that.
func staysTerminated(path *field.Path, now, was []corev1.ContainerStatus, restarts func(string, int32) bool) field.ErrorList {
	var f validation.Findings
	for i, old := range was {
		if old.State.Terminated == nil {
			continue
		}
		runs := slices.ContainsFunc(now, func(s corev1.ContainerStatus) bool { return s.Name == old.Name && s.State.Terminated == nil })
		f.AddIf(runs && !restarts(old.Name, old.State.Terminated.ExitCode),
			field.Forbidden(path.Index(i).Child("state"), "may not be transitioned to non-terminated state"))
	}
	return f.Errs
}

func claimStatuses(path *field.Path, statuses []corev1.PodResourceClaimStatus, claims []corev1.PodResourceClaim) field.ErrorList {
	var f validation.Findings
	names, seen := podvalidation.PodClaimNames(claims), sets.New[string]()
	for i, s := range statuses {
		path := path.Index(i)
		f.AddIf(!names.Has(s.Name), field.Invalid(path.Child("name"), s.Name, "must match the name of an entry in `spec.resourceClaims`"))
		f.AddIf(seen.Has(s.Name), field.Duplicate(path.Child("name"), s.Name))
		seen.Insert(s.Name)
		if s.ResourceClaimName != nil {
			f.Merge(validation.Follows(validation.ObjectName, path.Child("resourceClaimName"), *s.ResourceClaimName))
		}
	}
	return f.Errs
}

// extendedClaimStatus checks extendedResourceClaimStatus, the claim that a scheduler has made for extended
// resources (KEP-5004).
func extendedClaimStatus(path *field.Path, s *corev1.PodExtendedResourceClaimStatus, spec *corev1.PodSpec) field.ErrorList {
	if s == nil {
		return nil
	}
	var f validation.Findings
	mappings := path.Child("requestMappings")
	f.AddIf(len(s.RequestMappings) == 0, field.Required(mappings, "at least one request mapping is required"))
	requests := map[string]corev1.ResourceList{}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		requests[c.Name] = c.Resources.Requests
	}
	seen := sets.New[corev1.ContainerExtendedResourceRequest]()
	for i, m := range s.RequestMappings {
		at := mappings.Index(i)
		if list, found := requests[m.ContainerName]; !found {
			f.Add(field.Invalid(at.Child("containerName"), m.ContainerName, "must match the name of an entry in spec.initContainers.name or spec.containers.name"))
		} else if _, found := list[corev1.ResourceName(m.ResourceName)]; !found {
			f.Add(field.Invalid(at.Child("resourceName"), m.ResourceName,
				"must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests"))
		}
		f.Merge(validation.Follows(utilvalidation.IsDNS1123Label, path.Child("requestName"), m.RequestName))
		if seen.Has(m) {
			f.Add(field.Duplicate(at.Child("containerName"), m.ContainerName), field.Duplicate(at.Child("resourceName"), m.ResourceName),
				field.Duplicate(at.Child("requestName"), m.RequestName))
		}
		seen.Insert(m)
	}
	f.Merge(validation.Required(validation.ObjectName, path.Child("resourceClaimName"), s.ResourceClaimName))
	return f.Errs
}

func podIPs(path *field.Path, s, was *corev1.PodStatus) field.ErrorList {
	var now, old []string
	for _, ip := range s.PodIPs {
		now = append(now, ip.IP)
	}
	for _, ip := range was.PodIPs {
		old = append(old, ip.IP)
	}
	f := validation.Findings{Errs: statusIPs(path, now, old, s.PodIPs)}
	f.AddIf((s.PodIP == "") != (len(now) == 0), field.Invalid(path, validation.Unversioned(s.PodIPs), "podIP and podIPs must either both be set or both be unset"))
	return f.Errs
}

func hostIPs(path *field.Path, s, was *corev1.PodStatus) field.ErrorList {
	if len(s.HostIPs) == 0 {
		return nil
	}
	var f validation.Findings
	var now, old []string
	for _, ip := range s.HostIPs {
		now = append(now, ip.IP)
	}
	for _, ip := range was.HostIPs {
		old = append(old, ip.IP)
	}
	f.AddIf(s.HostIP != now[0], field.Invalid(path.Index(0).Child("ip"), now[0], "must be equal to `hostIP`"))
	f.Merge(statusIPs(path, now, old, s.HostIPs))
	return f.Errs
}

// statusIPs checks a list of addresses. A pod has at most one address of each IP family.
func statusIPs(path *field.Path, now, was []string, value any) field.ErrorList {
	var f validation.Findings
	for i, ip := range now {
		f.Merge(validation.LegacyIP(path.Index(i), ip, was))
	}
	if len(now) < 2 {
		return f.Errs
	}
	dual, err := netutils.IsDualStackIPStrings(now)
	if err != nil {
		f.Add(field.InternalError(path, fmt.Errorf("failed to check for dual stack with error:%w", err)))
	}
	f.AddIf(!dual || len(now) > 2, field.Invalid(path, validation.Unversioned(value), "may specify no more than one IP for each IP family"))
	return f.Errs
}

func statusUsers(path *field.Path, statuses []corev1.ContainerStatus, windows bool) field.ErrorList {
	var f validation.Findings
	for i, s := range statuses {
		if s.User == nil || s.User.Linux == nil {
			continue
		}
		u, path := s.User.Linux, path.Index(i).Child("user", "linux")
		if windows {
			f.Add(field.Forbidden(path, "cannot be set for a windows pod"))
			continue
		}
		// The container runtime may report any uid of Linux, also one that a pod spec can't ask for.
		f.AddIf(u.UID < 0 || u.UID > math.MaxUint32, field.Invalid(path.Child("uid"), u.UID, fmt.Sprintf("must be between 0 and %d, inclusive", int64(math.MaxUint32))))
		f.Merge(podvalidation.GroupID(path.Child("gid"), &u.GID))
		for j := range u.SupplementalGroups {
			f.Merge(podvalidation.GroupID(path.Child("supplementalGroups").Index(j), &u.SupplementalGroups[j]))
		}
	}
	return f.Errs
}

// allocations checks allocatedResourcesStatus, the devices that a container has (KEP-4680). Ephemeral containers
// have none.
func allocations(path *field.Path, statuses []corev1.ContainerStatus, containers []corev1.Container, ephemeral bool) field.ErrorList {
	var f validation.Findings
	for i, s := range statuses {
		path := path.Index(i).Child("allocatedResourcesStatus")
		if ephemeral {
			f.AddIf(len(s.AllocatedResourcesStatus) > 0, field.Forbidden(path, "must not be specified in container status"))
			continue
		}
		c := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == s.Name })
		for j, a := range s.AllocatedResourcesStatus {
			if c >= 0 {
				f.Merge(asked(path.Index(j).Child("name"), a.Name, &containers[c].Resources))
			}
			f.Merge(resourceHealth(path.Index(j).Child("resources"), a.Resources))
		}
	}
	return f.Errs
}

// asked checks that the container has requested the resource of its devices.
func asked(path *field.Path, name corev1.ResourceName, r *corev1.ResourceRequirements) field.ErrorList {
	msg := "must match one of the container's resource requests"
	_, found := r.Requests[name]
	if claim, is := strings.CutPrefix(string(name), "claim:"); is {
		msg = "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
		found = slices.ContainsFunc(r.Claims, func(c corev1.ResourceClaim) bool {
			return claim == strings.TrimSuffix(c.Name+"/"+c.Request, "/")
		})
	}
	if found {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, msg)}
}

func resourceHealth(path *field.Path, resources []corev1.ResourceHealth) field.ErrorList {
	var f validation.Findings
	seen := sets.New[corev1.ResourceID]()
	for i, r := range resources {
		path := path.Index(i)
		f.Merge(validation.OneOf(path.Child("health"), r.Health,
			corev1.ResourceHealthStatusHealthy, corev1.ResourceHealthStatusUnhealthy, corev1.ResourceHealthStatusUnknown))
		if r.Message != nil {
			f.AddIf(*r.Message == "", field.Required(path.Child("message"), "must be non-empty if specified"))
			f.AddIf(len(*r.Message) > corev1.ResourceHealthMessageMaxLength, field.TooLong(path.Child("message"), *r.Message, corev1.ResourceHealthMessageMaxLength))
		}
		f.AddIf(seen.Has(r.ResourceID), field.Duplicate(path.Child("resourceID"), r.ResourceID))
		seen.Insert(r.ResourceID)
	}
	return f.Errs
}
