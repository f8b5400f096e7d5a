package podvalidation

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// volumeMounts checks the mounts of a container. Each must name a volume of the pod.
func (s *containerScope) volumeMounts(path *field.Path, c *corev1.Container) field.ErrorList {
	var f validation.Findings
	seen := sets.New[string]()
	for i := range c.VolumeMounts {
		m, idx := &c.VolumeMounts[i], path.Index(i)
		name, mountPath := idx.Child("name"), idx.Child("mountPath")
		f.AddIf(m.Name == "", field.Required(name, ""))
		f.AddIf(s.volumes[m.Name] == nil, field.NotFound(name, m.Name))
		f.AddIf(m.MountPath == "", field.Required(mountPath, ""))
		f.AddIf(seen.Has(m.MountPath), field.Invalid(mountPath, m.MountPath, "must be unique"))
		seen.Insert(m.MountPath)
		f.AddIf(slices.ContainsFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool { return d.Name == m.Name }),
			field.Invalid(name, m.Name, "must not already exist in volumeDevices"))
		f.AddIf(slices.ContainsFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool { return d.DevicePath == m.MountPath }),
			field.Invalid(mountPath, m.MountPath, "must not already exist as a path in volumeDevices"))
		if m.SubPath != "" {
			f.Merge(descendingPath(path.Child("subPath"), m.SubPath))
		}
		if m.SubPathExpr != "" {
			f.AddIf(m.SubPath != "", field.Invalid(idx.Child("subPathExpr"), m.SubPathExpr, "subPathExpr and subPath are mutually exclusive"))
			f.Merge(descendingPath(path.Child("subPathExpr"), m.SubPathExpr))
		}
		f.Merge(
			mountPropagation(path.Child("mountPropagation"), m.MountPropagation, c),
			recursiveReadOnly(path.Child("recursiveReadOnly"), m),
			bindMountOptions(idx.Child("bindMountOptions"), m.BindMountOptions))
		source := s.volumes[m.Name]
		f.AddIf(len(m.BindMountOptions) > 0 && source != nil && source.Image != nil,
			field.Invalid(idx.Child("bindMountOptions"), m.BindMountOptions, "bindMountOptions may not be used with image volumes"))
	}
	return f.Errs
}

// bindMountOptions checks that each option is known, and is there once.
func bindMountOptions(path *field.Path, options []string) field.ErrorList {
	var f validation.Findings
	for i, option := range options {
		f.Merge(validation.OneOf(path.Index(i), corev1.BindMountOption(option),
			corev1.BindMountOptionNoDev, corev1.BindMountOptionNoExec, corev1.BindMountOptionNoSUID))
		f.AddIf(slices.Contains(options[:i], option), field.Duplicate(path.Index(i), option))
	}
	return f.Errs
}

// volumeDevices checks the block devices of a container. Each must name a volume of the pod.
func (s *containerScope) volumeDevices(path *field.Path, c *corev1.Container) field.ErrorList {
	var f validation.Findings
	names, paths := sets.New[string](), sets.New[string]()
	for i, d := range c.VolumeDevices {
		name, devicePath := path.Index(i).Child("name"), path.Index(i).Child("devicePath")
		source := s.volumes[d.Name]
		f.AddIf(d.Name == "", field.Required(name, ""))
		f.AddIf(names.Has(d.Name), field.Invalid(name, d.Name, "must be unique"))
		f.AddIf(source != nil && source.PersistentVolumeClaim == nil && source.Ephemeral == nil,
			field.Invalid(name, d.Name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"))
		f.AddIf(source == nil, field.NotFound(name, d.Name))
		f.AddIf(d.DevicePath == "", field.Required(devicePath, ""))
		f.AddIf(paths.Has(d.DevicePath), field.Invalid(devicePath, d.DevicePath, "must be unique"))
		if len(noBacksteps(d.DevicePath)) > 0 {
			f.Add(field.Invalid(devicePath, d.DevicePath, "can not contain backsteps ('..')"))
		} else {
			paths.Insert(d.DevicePath)
		}
		f.AddIf(slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == d.Name }),
			field.Invalid(name, d.Name, "must not already exist in volumeMounts"))
		f.AddIf(slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == d.DevicePath }),
			field.Invalid(devicePath, d.DevicePath, "must not already exist as a path in volumeMounts"))
		if d.Name != "" {
			names.Insert(d.Name)
		}
	}
	return f.Errs
}

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

// noBacksteps is the rule that no element of a path is "..". The path a..b is valid.
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
