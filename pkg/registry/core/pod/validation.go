package pod

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// validatePod checks a new pod.
func validatePod(pod *corev1.Pod) field.ErrorList {
	f := validation.Findings{Errs: podAlone(pod, nil)}
	f.AddIf(len(pod.Spec.EphemeralContainers) > 0, field.Forbidden(validation.SpecPath.Child("ephemeralContainers"), "cannot be set on create"))
	f.AddIf(pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) > 0,
		field.Forbidden(validation.SpecPath.Child("nodeName"), "cannot be set until all schedulingGates have been cleared"))
	f.Merge(podvalidation.ProfilesAgree(validation.SpecPath, &pod.ObjectMeta, &pod.Spec))
	return f.Errs
}

// podAlone checks the rules that hold for new and for updated pods. The argument "stored" has the annotations of the
// stored pod.
func podAlone(pod *corev1.Pod, stored map[string]string) field.ErrorList {
	f := validation.Created(&pod.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(
		podvalidation.UpdatedPodAnnotations(validation.MetadataPath.Child("annotations"), pod.Annotations, stored, &pod.Spec),
		podvalidation.PodSpec(validation.SpecPath, &pod.Spec, &pod.ObjectMeta))
	if pod.Spec.ServiceAccountName == "" {
		f.Merge(projectedTokens(validation.SpecPath.Child("volumes"), pod.Spec.Volumes))
	}
	f.Merge(
		trimmedImages(validation.SpecPath.Child("containers"), pod.Spec.Containers),
		trimmedImages(validation.SpecPath.Child("initContainers"), pod.Spec.InitContainers))
	return f.Errs
}

// projectedTokens refuses projected volumes with a token. It is for pods without a service account.
func projectedTokens(path *field.Path, volumes []corev1.Volume) field.ErrorList {
	var f validation.Findings
	for i := range volumes {
		for j, s := range ptr.Deref(volumes[i].Projected, corev1.ProjectedVolumeSource{}).Sources {
			f.AddIf(s.ServiceAccountToken != nil, field.Forbidden(path.Index(i).Child("projected", "sources").Index(j).Child("serviceAccountToken"),
				"must not be specified when serviceAccountName is not set"))
		}
	}
	return f.Errs
}

// podUpdate checks the rules that hold for an update of a pod, and of its subresources ephemeralcontainers and resize.
func podUpdate(pod, old *corev1.Pod) validation.Findings {
	f := validation.Updated(&pod.ObjectMeta, &old.ObjectMeta)
	f.Merge(podAlone(pod, old.Annotations))
	return f
}

// validatePodUpdate checks an update of a pod. Only a few fields of the spec can change:
// https://kubernetes.io/docs/concepts/workloads/pods/#pod-update-and-replacement.
func validatePodUpdate(pod, old *corev1.Pod) field.ErrorList {
	f := podUpdate(pod, old)
	f.Merge(podAnnotationsUpdate(validation.MetadataPath.Child("annotations"), pod, old))
	for _, list := range []struct {
		name     string
		now, was []corev1.Container
	}{
		{"containers", pod.Spec.Containers, old.Spec.Containers},
		{"initContainers", pod.Spec.InitContainers, old.Spec.InitContainers},
	} {
		path := validation.SpecPath.Child(list.name)
		if len(list.now) != len(list.was) {
			f.Add(field.Forbidden(path, "pod updates may not add or remove containers"))
			return f.Errs
		}
		for i := range list.now {
			f.AddIf(list.now[i].Image == "", field.Required(path.Index(i).Child("image"), ""))
		}
		f.Merge(trimmedImages(path, list.now))
	}
	errs, stop := deadlineUpdate(validation.SpecPath, pod.Spec.ActiveDeadlineSeconds, old.Spec.ActiveDeadlineSeconds)
	f.Merge(errs)
	if stop {
		return f.Errs
	}
	f.Merge(
		tolerationsUpdate(validation.SpecPath.Child("tolerations"), pod.Spec.Tolerations, old.Spec.Tolerations),
		schedulingGatesUpdate(validation.SpecPath.Child("schedulingGates"), pod.Spec.SchedulingGates, old.Spec.SchedulingGates))
	if apiequality.Semantic.DeepEqual(pod.Spec, old.Spec) {
		return f.Errs
	}
	spec, errs := withoutAllowedChanges(&pod.Spec, &old.Spec)
	f.Merge(errs)
	if !apiequality.Semantic.DeepEqual(*spec, old.Spec) {
		f.Add(field.Forbidden(validation.SpecPath, fmt.Sprintf("pod updates may not change fields other than %s\n%v",
			strings.Join(changeablePodFields, ","), validation.Difference(&old.Spec, spec))))
	}
	return f.Errs
}

var changeablePodFields = []string{
	"`spec.containers[*].image`",
	"`spec.initContainers[*].image`",
	"`spec.activeDeadlineSeconds`",
	"`spec.tolerations` (only additions to existing tolerations)",
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
}

// deadlineUpdate checks that activeDeadlineSeconds is within its bounds, and only decreases. stop is true if the
// error makes the later checks of the update unnecessary.
func deadlineUpdate(spec *field.Path, now, was *int64) (errs field.ErrorList, stop bool) {
	path := spec.Child("activeDeadlineSeconds")
	switch {
	case now == nil && was != nil:
		return field.ErrorList{field.Invalid(path, now, "must not update from a positive integer to nil value")}, false
	case now == nil:
		return nil, false
	case *now < 0 || *now > math.MaxInt32:
		return podvalidation.DeadlineBetween(spec, *now, 0), true
	case was != nil && *was < *now:
		return field.ErrorList{field.Invalid(path, *now, "must be less than or equal to previous value")}, true
	}
	return nil, false
}

func tolerationsUpdate(path *field.Path, now, was []corev1.Toleration) field.ErrorList {
	for _, t := range was {
		kept := slices.ContainsFunc(now, func(n corev1.Toleration) bool {
			n.TolerationSeconds = t.TolerationSeconds
			return apiequality.Semantic.DeepEqual(n, t)
		})
		if !kept {
			return field.ErrorList{field.Forbidden(path, "existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	return podvalidation.Tolerations(path, now)
}

func schedulingGatesUpdate(path *field.Path, now, was []corev1.PodSchedulingGate) field.ErrorList {
	var f validation.Findings
	for i, gate := range now {
		// A gate that is there twice is reported once, at its last index.
		f.AddIf(!slices.Contains(was, gate) && !slices.Contains(now[i+1:], gate), field.Forbidden(path.Index(i).Child("name"),
			fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", gate.Name)))
	}
	return f.Errs
}

// withoutAllowedChanges returns the new spec, with the stored values of all fields that may change. It also returns
// the errors of changes to these fields that aren't allowed.
func withoutAllowedChanges(now, was *corev1.PodSpec) (*corev1.PodSpec, field.ErrorList) {
	spec := now.DeepCopy()
	for i := range spec.Containers {
		spec.Containers[i].Image = was.Containers[i].Image
	}
	for i := range spec.InitContainers {
		spec.InitContainers[i].Image = was.InitContainers[i].Image
	}
	if len(spec.InitContainers) == 0 {
		spec.InitContainers = nil // kube-apiserver's difference doesn't show an empty list in place of none
	}
	spec.ActiveDeadlineSeconds = was.ActiveDeadlineSeconds
	spec.SchedulingGates = was.SchedulingGates
	spec.Tolerations = was.Tolerations
	// The deprecated field always has the same value as serviceAccountName. The comparison of serviceAccountName
	// reports a change of both fields.
	spec.DeprecatedServiceAccount = was.DeprecatedServiceAccount
	if ptr.Deref(was.TerminationGracePeriodSeconds, 0) < 0 && ptr.Deref(spec.TerminationGracePeriodSeconds, 0) == 1 {
		spec.TerminationGracePeriodSeconds = was.TerminationGracePeriodSeconds
	}
	if len(was.SchedulingGates) == 0 {
		return spec, nil
	}
	// The affinity of a pod with scheduling gates may get stricter (KEP-3838).
	var f validation.Findings
	path := validation.SpecPath.Child("nodeSelector")
	for k, v := range was.NodeSelector {
		if now, kept := spec.NodeSelector[k]; !kept || now != v {
			f.Add(field.Invalid(path, maps.Clone(spec.NodeSelector), "only additions to spec.nodeSelector are allowed (no mutations or deletions)"))
			break
		}
	}
	spec.NodeSelector = was.NodeSelector
	f.Merge(nodeAffinityUpdate(validation.SpecPath.Child("affinity", "nodeAffinity"), podvalidation.NodeAffinity(spec), podvalidation.NodeAffinity(was)))
	keepNodeAffinity(spec, was)
	return spec, f.Errs
}

func keepNodeAffinity(spec, was *corev1.PodSpec) {
	if apiequality.Semantic.DeepEqual(podvalidation.NodeAffinity(spec), podvalidation.NodeAffinity(was)) {
		return
	}
	a := ptr.Deref(spec.Affinity, corev1.Affinity{})
	a.NodeAffinity = podvalidation.NodeAffinity(was)
	spec.Affinity = &a
	if was.Affinity == nil && a == (corev1.Affinity{}) {
		spec.Affinity = nil
	}
}

// nodeAffinityUpdate checks that the required node affinity only gets stricter.
func nodeAffinityUpdate(path *field.Path, now, was *corev1.NodeAffinity) field.ErrorList {
	var f validation.Findings
	old, terms := hardTerms(was), hardTerms(now)
	path = path.Child(podvalidation.RequiredTerms, "nodeSelectorTerms")
	if len(old) > 0 && len(old) != len(terms) {
		return field.ErrorList{field.Invalid(path, validation.Unversioned(terms), "no additions/deletions to non-empty NodeSelectorTerms list are allowed")}
	}
	for i := range old {
		f.AddIf(!addsOnly(&terms[i], &old[i]), field.Invalid(path.Index(i), validation.Unversioned(terms[i]), "only additions are allowed (no mutations or deletions)"))
	}
	return f.Errs
}

func hardTerms(a *corev1.NodeAffinity) []corev1.NodeSelectorTerm {
	if a == nil || a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

// addsOnly reports whether a term has all its old requirements, and possibly more. An empty term matches nothing,
// so it must stay empty.
func addsOnly(now, was *corev1.NodeSelectorTerm) bool {
	if len(was.MatchExpressions)+len(was.MatchFields) == 0 {
		return len(now.MatchExpressions)+len(now.MatchFields) == 0
	}
	begins := func(now, was []corev1.NodeSelectorRequirement) bool {
		return len(now) >= len(was) && (len(was) == 0 || apiequality.Semantic.DeepEqual(now[:len(was)], was))
	}
	return begins(now.MatchExpressions, was.MatchExpressions) && begins(now.MatchFields, was.MatchFields)
}

func trimmedImages(path *field.Path, containers []corev1.Container) field.ErrorList {
	var f validation.Findings
	for i := range containers {
		f.Merge(podvalidation.TrimmedImage(path.Index(i), &containers[i]))
	}
	return f.Errs
}
