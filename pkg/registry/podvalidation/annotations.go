package podvalidation

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

const (
	// AppArmorPrefix is the prefix of annotations with AppArmor profiles of containers.
	AppArmorPrefix = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix
	seccompPrefix  = corev1.SeccompContainerAnnotationKeyPrefix
)

// PodAnnotations checks annotations that Kubernetes defines for pods, such as the pod deletion cost.
func PodAnnotations(path *field.Path, annotations map[string]string, spec *corev1.PodSpec) field.ErrorList {
	return UpdatedPodAnnotations(path, annotations, nil, spec)
}

// UpdatedPodAnnotations checks the same annotations for an update. If the pod deletion cost of the stored pod is invalid,
// which old versions of Kubernetes accepted, the pod can keep or change it. The argument "stored" has the annotations of
// the stored pod.
func UpdatedPodAnnotations(path *field.Path, annotations, stored map[string]string, spec *corev1.PodSpec) field.ErrorList {
	var f validation.Findings
	if v, mirror := annotations[corev1.MirrorPodAnnotationKey]; mirror {
		f.AddIf(spec.NodeName == "", field.Invalid(path.Key(corev1.MirrorPodAnnotationKey), v, "must set spec.nodeName if mirror pod annotation is set"))
	}
	if v := annotations[corev1.TolerationsAnnotationKey]; v != "" {
		var ts []corev1.Toleration
		if err := json.Unmarshal([]byte(v), &ts); err != nil {
			f.Add(field.Invalid(path, corev1.TolerationsAnnotationKey, err.Error()))
		} else {
			f.Merge(Tolerations(path.Child(corev1.TolerationsAnnotationKey), ts))
		}
	}
	f.AddIf(!validDeletionCost(annotations) && validDeletionCost(stored),
		field.Invalid(path.Key(corev1.PodDeletionCost), annotations[corev1.PodDeletionCost], "must be a 32bit integer"))
	if v, set := annotations[corev1.SeccompPodAnnotationKey]; set {
		f.Merge(seccompAnnotation(path.Child(corev1.SeccompPodAnnotationKey), v))
	}
	for k, v := range validation.Sorted(annotations) {
		if strings.HasPrefix(k, seccompPrefix) {
			f.Merge(seccompAnnotation(path.Child(k), v))
		}
	}
	for k, v := range validation.Sorted(annotations) {
		container, is := strings.CutPrefix(k, AppArmorPrefix)
		if !is {
			continue
		}
		f.AddIf(!hasContainer(spec, container), field.Invalid(path.Key(k), container, "container not found"))
		f.AddIf(v != "" && v != corev1.DeprecatedAppArmorBetaProfileRuntimeDefault && v != corev1.DeprecatedAppArmorBetaProfileNameUnconfined &&
			!strings.HasPrefix(v, corev1.DeprecatedAppArmorBetaProfileNamePrefix),
			field.Invalid(path.Key(k), v, fmt.Sprintf("invalid AppArmor profile name: %q", v)))
	}
	return f.Errs
}

// validDeletionCost reports whether the pod deletion cost, if any, is a 32-bit integer that begins neither with a plus
// sign nor with a superfluous zero. As in kube-apiserver, zeros after a minus sign are allowed.
func validDeletionCost(annotations map[string]string) bool {
	v, set := annotations[corev1.PodDeletionCost]
	_, err := strconv.ParseInt(v, 10, 32)
	return !set || err == nil && v[0] != '+' && (v == "0" || v[0] != '0')
}

func hasContainer(spec *corev1.PodSpec, name string) bool {
	for _, c := range podspec.Containers(spec, nil) {
		if c.Name == name {
			return true
		}
	}
	return false
}

func seccompAnnotation(path *field.Path, v string) field.ErrorList {
	switch v {
	case corev1.SeccompProfileRuntimeDefault, corev1.DeprecatedSeccompProfileDockerDefault, corev1.SeccompProfileNameUnconfined:
		return nil
	}
	if file, local := strings.CutPrefix(v, corev1.SeccompLocalhostProfileNamePrefix); local {
		return descendingPath(path, file)
	}
	return field.ErrorList{field.Invalid(path, v, "must be a valid seccomp profile")}
}

// ProfilesAgree checks that the annotation and the field of a seccomp or AppArmor profile have the same meaning, if
// both are set.
func ProfilesAgree(path *field.Path, meta *metav1.ObjectMeta, spec *corev1.PodSpec) field.ErrorList {
	var f validation.Findings
	if sc := spec.SecurityContext; sc != nil {
		if v, set := meta.Annotations[corev1.SeccompPodAnnotationKey]; set && sc.SeccompProfile != nil {
			f.Merge(seccompAgrees(path.Child("securityContext", "seccompProfile"), sc.SeccompProfile, v))
		}
	}
	for path, c := range podspec.Containers(spec, path) {
		if v, set := meta.Annotations[seccompPrefix+c.Name]; set && c.SecurityContext != nil && c.SecurityContext.SeccompProfile != nil {
			f.Merge(seccompAgrees(path.Child("securityContext", "seccompProfile"), c.SecurityContext.SeccompProfile, v))
		}
	}
	if podspec.IsWindows(spec) {
		return f.Errs
	}
	for path, c := range podspec.Containers(spec, path) {
		p := podspec.AppArmorProfile(spec)
		if c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil {
			p = c.SecurityContext.AppArmorProfile
		}
		if v, set := meta.Annotations[AppArmorPrefix+c.Name]; set && p != nil {
			f.Merge(appArmorAgrees(path.Child("securityContext", "appArmorProfile"), p, v))
		}
	}
	return f.Errs
}

func seccompAgrees(path *field.Path, p *corev1.SeccompProfile, v string) field.ErrorList {
	local := profileOf(p.LocalhostProfile, v, corev1.SeccompLocalhostProfileNamePrefix)
	switch p.Type {
	case corev1.SeccompProfileTypeUnconfined:
		return agrees(path, "seccomp", v == corev1.SeccompProfileNameUnconfined, true)
	case corev1.SeccompProfileTypeRuntimeDefault:
		return agrees(path, "seccomp", v == corev1.SeccompProfileRuntimeDefault || v == corev1.DeprecatedSeccompProfileDockerDefault, true)
	case corev1.SeccompProfileTypeLocalhost:
		return agrees(path, "seccomp", strings.HasPrefix(v, corev1.SeccompLocalhostProfileNamePrefix), local)
	}
	return nil
}

func appArmorAgrees(path *field.Path, p *corev1.AppArmorProfile, v string) field.ErrorList {
	local := profileOf(p.LocalhostProfile, v, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
	switch p.Type {
	case corev1.AppArmorProfileTypeUnconfined:
		return agrees(path, "apparmor", v == corev1.DeprecatedAppArmorBetaProfileNameUnconfined, true)
	case corev1.AppArmorProfileTypeRuntimeDefault:
		return agrees(path, "apparmor", v == corev1.DeprecatedAppArmorBetaProfileRuntimeDefault, true)
	case corev1.AppArmorProfileTypeLocalhost:
		return agrees(path, "apparmor", strings.HasPrefix(v, corev1.DeprecatedAppArmorBetaProfileNamePrefix), local)
	}
	return nil
}

func profileOf(profile *string, annotation, prefix string) bool {
	return profile != nil && strings.TrimPrefix(annotation, prefix) == *profile
}

func agrees(path *field.Path, what string, sameType, sameProfile bool) field.ErrorList {
	switch {
	case !sameType:
		return field.ErrorList{field.Forbidden(path.Child("type"), what+" type in annotation and field must match")}
	case !sameProfile:
		return field.ErrorList{field.Forbidden(path.Child("localhostProfile"), what+" profile in annotation and field must match")}
	}
	return nil
}
