package pod

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// validatePodResize checks an update of pods/resize (KEP-1287). An update can change only cpu and memory, and must
// not change the QoS class.
func validatePodResize(pod, old *corev1.Pod) field.ErrorList {
	switch {
	case podvalidation.IsMirror(&old.ObjectMeta):
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods cannot be resized")}
	case podspec.IsWindows(&old.Spec):
		return field.ErrorList{field.Forbidden(field.NewPath(""), "windows pods cannot be resized")}
	}
	f := podUpdate(pod, old)
	was := old.Status.QOSClass
	if was == "" {
		was = podspec.QOSClass(old)
	}
	f.AddIf(was != podspec.QOSClass(pod), field.Invalid(validation.SpecPath, pod.Status.QOSClass, "Pod QOS Class may not change as a result of resizing"))
	f.AddIf(!nodeResizes(&old.Status), field.Forbidden(validation.SpecPath, "Pod running on node without support for resize"))

	spec := pod.Spec.DeepCopy()
	if requires(old.Spec.Resources) || requires(spec.Resources) {
		f.Merge(podLevelResize(spec, &old.Spec))
	}
	if errs := sameContainers(&pod.Spec, &old.Spec); len(errs) > 0 {
		f.Merge(errs)
		return f.Errs
	}
	for _, list := range []struct {
		name     string
		now, was []corev1.Container
	}{
		{"initContainers", spec.InitContainers, old.Spec.InitContainers},
		{"containers", spec.Containers, old.Spec.Containers},
	} {
		for i := range list.was {
			f.Merge(nothingRemoved(validation.SpecPath.Child(list.name).Index(i).Child("resources"), "resource",
				&list.now[i].Resources, &list.was[i].Resources))
		}
	}
	for i := range spec.Containers {
		now, was := &spec.Containers[i], &old.Spec.Containers[i]
		keepCompute(&now.Resources, &was.Resources)
		f.AddIf(!apiequality.Semantic.DeepEqual(now, was), field.Forbidden(validation.SpecPath, "only cpu and memory resources are mutable"))
	}
	for i := range spec.InitContainers {
		now, was := &spec.InitContainers[i], &old.Spec.InitContainers[i]
		path, changed := validation.SpecPath.Child("initContainers").Index(i), !apiequality.Semantic.DeepEqual(now, was)
		keepCompute(&now.Resources, &was.Resources)
		f.AddIf(!apiequality.Semantic.DeepEqual(now, was), field.Forbidden(path,
			"only cpu and memory resources for init or sidecar containers are mutable"))
		if changed && !podspec.IsSidecar(now) {
			for _, p := range now.ResizePolicy {
				f.AddIf(p.RestartPolicy == corev1.RestartContainer, field.Forbidden(path,
					"non-sidecar init containers with a resize policy of RestartContainer cannot be resized"))
			}
		}
	}
	if len(f.Errs) == 0 && !apiequality.Semantic.DeepEqual(*spec, old.Spec) {
		f.Add(field.Forbidden(validation.SpecPath, "only cpu and memory resources are mutable"))
	}
	return f.Errs
}

// requires reports whether a pod has requests or limits of its own, of any resource.
func requires(r *corev1.ResourceRequirements) bool {
	return r != nil && len(r.Requests)+len(r.Limits) > 0
}

// nodeResizes reports whether the pod's node can resize running containers. If the status of the first running
// container has the field resources, the node supports resizing. Without a running container, the result is true.
func nodeResizes(s *corev1.PodStatus) bool {
	for i := range s.ContainerStatuses {
		if s.ContainerStatuses[i].State.Running != nil {
			return s.ContainerStatuses[i].Resources != nil
		}
	}
	return true
}

// podLevelResize checks the change of spec.resources, the resources of the whole pod (KEP-5419). It sets cpu and
// memory, which may change, to their stored values. Then spec.resources must be equal to its stored value.
func podLevelResize(spec, old *corev1.PodSpec) field.ErrorList {
	path := validation.SpecPath.Child("resources")
	if spec.Resources == nil {
		return field.ErrorList{field.Forbidden(path, "pod-level resources cannot be removed")}
	}
	var f validation.Findings
	was := &corev1.ResourceRequirements{}
	if old.Resources != nil {
		was = old.Resources
		f.Merge(nothingRemoved(path, "pod-level resource", spec.Resources, was))
	}
	keepCompute(spec.Resources, was)
	if r := spec.Resources; old.Resources == nil && len(r.Requests)+len(r.Limits)+len(r.Claims) == 0 {
		spec.Resources = nil
	}
	f.AddIf(!apiequality.Semantic.DeepEqual(spec.Resources, old.Resources),
		field.Forbidden(validation.SpecPath, "only cpu and memory resources are mutable at pod-level"))
	return f.Errs
}

func sameContainers(spec, old *corev1.PodSpec) field.ErrorList {
	var f validation.Findings
	for _, list := range []struct {
		name     string
		now, was []corev1.Container
	}{
		{"containers", spec.Containers, old.Containers},
		{"initContainers", spec.InitContainers, old.InitContainers},
	} {
		path := validation.SpecPath.Child(list.name)
		if len(list.now) != len(list.was) {
			f.Add(field.Forbidden(path, list.name+" may not be added or removed on resize"))
			continue
		}
		for i := range list.was {
			f.AddIf(list.now[i].Name != list.was[i].Name,
				field.Forbidden(path.Index(i).Child("name"), list.name+" may not be renamed or reordered on resize"))
		}
	}
	return f.Errs
}

func nothingRemoved(path *field.Path, what string, now, was *corev1.ResourceRequirements) field.ErrorList {
	var f validation.Findings
	removed := func(now, was corev1.ResourceList) bool {
		for name := range was {
			if _, kept := now[name]; !kept {
				return true
			}
		}
		return false
	}
	f.AddIf(removed(now.Requests, was.Requests), field.Forbidden(path.Child("requests"), what+" requests cannot be removed"))
	f.AddIf(removed(now.Limits, was.Limits), field.Forbidden(path.Child("limits"), what+" limits cannot be removed"))
	return f.Errs
}

// keepCompute sets cpu and memory to their stored values, so that a comparison finds only changes of other
// resources.
func keepCompute(r, was *corev1.ResourceRequirements) {
	r.Requests, r.Limits = withCompute(r.Requests, was.Requests), withCompute(r.Limits, was.Limits)
}

func withCompute(list, was corev1.ResourceList) corev1.ResourceList {
	list = maps.Clone(list)
	if list == nil {
		list = corev1.ResourceList{}
	}
	for name := range validation.ComputeResources {
		delete(list, name)
		if q, had := was[name]; had {
			list[name] = q
		}
	}
	return list
}
