package podvalidation

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

func mountPropagation(path *field.Path, mode *corev1.MountPropagationMode, c *corev1.Container) field.ErrorList {
	errs := validation.OptionalOneOf(path, mode, corev1.MountPropagationBidirectional, corev1.MountPropagationHostToContainer, corev1.MountPropagationNone)
	if ptr.Deref(mode, "") == corev1.MountPropagationBidirectional && !isPrivileged(c) {
		errs = append(errs, field.Forbidden(path, "Bidirectional mount propagation is available only to privileged containers"))
	}
	return errs
}

func isPrivileged(c *corev1.Container) bool {
	return c.SecurityContext != nil && ptr.Deref(c.SecurityContext.Privileged, false)
}

// recursiveReadOnly checks mounts that are read-only, with all mounts below them (KEP-3857).
func recursiveReadOnly(path *field.Path, m *corev1.VolumeMount) field.ErrorList {
	var f validation.Findings
	f.Merge(validation.OptionalOneOf(path, m.RecursiveReadOnly,
		corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible))
	switch ptr.Deref(m.RecursiveReadOnly, "") {
	case corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible:
		f.AddIf(!m.ReadOnly, field.Forbidden(path, "may only be specified when readOnly is true"))
		f.AddIf(ptr.Deref(m.MountPropagation, corev1.MountPropagationNone) != corev1.MountPropagationNone,
			field.Forbidden(path, "may only be specified when mountPropagation is None or not specified"))
	}
	return f.Errs
}

// noBacksteps is the rule for paths without "..".
func noBacksteps(p string) []string {
	if slices.Contains(strings.Split(p, "/"), "..") {
		return []string{"must not contain '..'"}
	}
	return nil
}

// descendingPath checks a relative path. It must not contain "..".
func descendingPath(at *field.Path, p string) field.ErrorList {
	var f validation.Findings
	f.AddIf(path.IsAbs(p), field.Invalid(at, p, "must be a relative path"))
	f.Merge(validation.Follows(noBacksteps, at, p))
	return f.Errs
}

// filePath checks the path of a file in a volume. Names that begin with two dots are reserved for the kubelet.
func filePath(at *field.Path, p string) field.ErrorList {
	errs := descendingPath(at, p)
	if strings.HasPrefix(p, "..") && !strings.HasPrefix(p, "../") {
		errs = append(errs, field.Invalid(at, p, "must not start with '..'"))
	}
	return errs
}
