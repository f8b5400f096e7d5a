package podvalidation

import (
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/node/util/sysctl"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

func podSecurity(path *field.Path, spec *corev1.PodSpec) field.ErrorList {
	sc := ptr.Deref(spec.SecurityContext, corev1.PodSecurityContext{})
	var f validation.Findings
	f.Merge(
		GroupID(path.Child("fsGroup"), sc.FSGroup),
		UserID(path.Child("runAsUser"), sc.RunAsUser),
		GroupID(path.Child("runAsGroup"), sc.RunAsGroup))
	for i := range sc.SupplementalGroups {
		f.Merge(GroupID(path.Child("supplementalGroups").Index(i), &sc.SupplementalGroups[i]))
	}
	f.Merge(
		sysctls(path.Child("sysctls"), sc.Sysctls, spec),
		validation.OptionalOneOf(path.Child("fsGroupChangePolicy"), sc.FSGroupChangePolicy, corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch),
		seccompProfile(path.Child("seccompProfile"), sc.SeccompProfile),
		windowsOptions(path.Child("windowsOptions"), sc.WindowsOptions),
		appArmorProfile(path.Child("appArmorProfile"), sc.AppArmorProfile),
		validation.OptionalOneOf(path.Child("supplementalGroupsPolicy"), sc.SupplementalGroupsPolicy,
			corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict),
		validation.OptionalOneOf(path.Child("seLinuxChangePolicy"), sc.SELinuxChangePolicy,
			corev1.SELinuxChangePolicyMountOption, corev1.SELinuxChangePolicyRecursive))
	return f.Errs
}

func sharedProcessNamespace(path *field.Path, spec *corev1.PodSpec) field.ErrorList {
	if !ptr.Deref(spec.ShareProcessNamespace, false) || !spec.HostPID {
		return nil
	}
	return field.ErrorList{field.Invalid(path, true, "ShareProcessNamespace and HostPID cannot both be enabled")}
}

const maxSysctl = 253

var sysctlName = regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)

// sysctls checks kernel parameters, see sysctl.d(5). If a pod shares a namespace with its host, it can't set the
// parameters of that namespace.
func sysctls(path *field.Path, parameters []corev1.Sysctl, spec *corev1.PodSpec) field.ErrorList {
	var f validation.Findings
	seen := sets.New[string]()
	for i, s := range parameters {
		path := path.Index(i).Child("name")
		switch {
		case s.Name == "":
			f.Add(field.Required(path, ""))
		case len(s.Name) > maxSysctl || !sysctlName.MatchString(s.Name):
			f.Add(field.Invalid(path, s.Name, fmt.Sprintf("must have at most %d characters and match regex %s", maxSysctl, sysctlName)))
		default:
			f.AddIf(seen.Has(s.Name), field.Duplicate(path, s.Name))
		}
		switch ns, _, _ := sysctl.GetNamespace(s.Name); {
		case spec.HostNetwork && ns == sysctl.NetNamespace:
			f.Add(field.Invalid(path, s.Name, "may not be specified when 'hostNetwork' is true"))
		case spec.HostIPC && ns == sysctl.IPCNamespace:
			f.Add(field.Invalid(path, s.Name, "may not be specified when 'hostIPC' is true"))
		}
		seen.Insert(s.Name)
	}
	return f.Errs
}

// Privileged returns an error for each privileged container of a pod spec, and an error if Windows containers run as
// processes of the host. Only a server that doesn't allow privileged containers calls Privileged
// (--allow-privileged=false).
func Privileged(path *field.Path, spec *corev1.PodSpec) field.ErrorList {
	var f validation.Findings
	for path, c := range podspec.Containers(spec, path) {
		f.AddIf(isPrivileged(c), field.Forbidden(path.Child("securityContext", "privileged"), "disallowed by cluster policy"))
	}
	n, _, _ := hostProcesses(path, spec)
	f.AddIf(n > 0, field.Forbidden(path, "hostProcess containers are disallowed by cluster policy"))
	return f.Errs
}

// hostProcess checks the Windows containers that run as processes of the host (KEP-1981). If one container of a pod
// is a process of the host, all containers must be processes of the host.
func hostProcess(path *field.Path, spec *corev1.PodSpec) field.ErrorList {
	var f validation.Findings
	n, all, errs := hostProcesses(path, spec)
	f.Merge(errs)
	f.AddIf(n > 0 && n != all, field.Invalid(path, "", "If pod contains any hostProcess containers then all containers must be HostProcess containers"))
	f.AddIf(n > 0 && !spec.HostNetwork, field.Invalid(path.Child("hostNetwork"), false, "hostNetwork must be true if pod contains any hostProcess containers"))
	return f.Errs
}

// hostProcesses returns the number of containers that are processes of the host, and the number of all containers.
func hostProcesses(path *field.Path, spec *corev1.PodSpec) (n, all int, errs field.ErrorList) {
	var f validation.Findings
	var pod *bool
	if sc := spec.SecurityContext; sc != nil && sc.WindowsOptions != nil {
		pod = sc.WindowsOptions.HostProcess
	}
	for path, c := range podspec.Containers(spec, path) {
		all++
		own := pod
		if sc := c.SecurityContext; sc != nil && sc.WindowsOptions != nil && sc.WindowsOptions.HostProcess != nil {
			own = sc.WindowsOptions.HostProcess
		}
		if pod != nil && *pod != *own {
			f.Add(field.Invalid(path.Child("securityContext", "windowsOptions", "hostProcess"), *own,
				fmt.Sprintf("pod hostProcess value must be identical if both are specified, was %v", *pod)))
		}
		if ptr.Deref(own, false) {
			n++
		}
	}
	return n, all, f.Errs
}

// userNamespace checks a pod with a user namespace of its own (KEP-127). The pod can't share other namespaces with
// the host, and can't have block devices.
func userNamespace(path *field.Path, spec *corev1.PodSpec) field.ErrorList {
	if ptr.Deref(spec.HostUsers, true) {
		return nil
	}
	var f validation.Findings
	const msg = "when `hostUsers` is false"
	f.AddIf(spec.HostNetwork, field.Forbidden(path.Child("hostNetwork"), msg))
	f.AddIf(spec.HostPID, field.Forbidden(path.Child("HostPID"), msg))
	f.AddIf(spec.HostIPC, field.Forbidden(path.Child("HostIPC"), msg))
	for path, c := range podspec.Containers(spec, path) {
		f.AddIf(len(c.VolumeDevices) > 0, field.Forbidden(path.Child("volumeDevices"), msg))
	}
	return f.Errs
}

// podOS checks the operating system of a pod, and refuses fields that are for another operating system.
func podOS(path *field.Path, spec *corev1.PodSpec) field.ErrorList {
	switch {
	case spec.OS == nil:
		return nil
	case spec.OS.Name == "":
		return field.ErrorList{field.Required(path.Child("os", "name"), "")}
	case spec.OS.Name == corev1.Linux:
		return notForLinux(path, spec)
	case spec.OS.Name == corev1.Windows:
		return notForWindows(path, spec)
	default:
		return validation.OneOf(path.Child("os"), spec.OS.Name, corev1.Linux, corev1.Windows)
	}
}

func notForLinux(path *field.Path, spec *corev1.PodSpec) field.ErrorList {
	var f validation.Findings
	const msg = "windows options cannot be set for a linux pod"
	f.AddIf(spec.SecurityContext != nil && spec.SecurityContext.WindowsOptions != nil,
		field.Forbidden(path.Child("securityContext", "windowsOptions"), msg))
	for path, c := range podspec.Containers(spec, path) {
		f.AddIf(c.SecurityContext != nil && c.SecurityContext.WindowsOptions != nil,
			field.Forbidden(path.Child("securityContext", "windowsOptions"), msg))
	}
	return f.Errs
}

func notForWindows(path *field.Path, spec *corev1.PodSpec) field.ErrorList {
	var f validation.Findings
	forbid := func(path *field.Path, is bool) {
		f.AddIf(is, field.Forbidden(path, "cannot be set for a windows pod"))
	}
	sc, security := ptr.Deref(spec.SecurityContext, corev1.PodSecurityContext{}), path.Child("securityContext")
	forbid(security.Child("appArmorProfile"), sc.AppArmorProfile != nil)
	forbid(security.Child("seLinuxOptions"), sc.SELinuxOptions != nil)
	forbid(path.Child("hostUsers"), spec.HostUsers != nil)
	forbid(path.Child("hostPID"), spec.HostPID)
	forbid(path.Child("hostIPC"), spec.HostIPC)
	forbid(security.Child("seccompProfile"), sc.SeccompProfile != nil)
	forbid(security.Child("fsGroup"), sc.FSGroup != nil)
	forbid(security.Child("fsGroupChangePolicy"), sc.FSGroupChangePolicy != nil)
	forbid(security.Child("sysctls"), len(sc.Sysctls) > 0)
	forbid(path.Child("shareProcessNamespace"), spec.ShareProcessNamespace != nil)
	forbid(security.Child("runAsUser"), sc.RunAsUser != nil)
	forbid(security.Child("runAsGroup"), sc.RunAsGroup != nil)
	forbid(security.Child("supplementalGroups"), sc.SupplementalGroups != nil)
	forbid(security.Child("supplementalGroupsPolicy"), sc.SupplementalGroupsPolicy != nil)
	forbid(security.Child("seLinuxChangePolicy"), sc.SELinuxChangePolicy != nil)
	for path, c := range podspec.Containers(spec, path) {
		sc, security := ptr.Deref(c.SecurityContext, corev1.SecurityContext{}), path.Child("securityContext")
		forbid(security.Child("appArmorProfile"), sc.AppArmorProfile != nil)
		forbid(security.Child("seLinuxOptions"), sc.SELinuxOptions != nil)
		forbid(security.Child("seccompProfile"), sc.SeccompProfile != nil)
		forbid(security.Child("capabilities"), sc.Capabilities != nil)
		forbid(security.Child("readOnlyRootFilesystem"), sc.ReadOnlyRootFilesystem != nil)
		forbid(security.Child("privileged"), sc.Privileged != nil)
		forbid(security.Child("allowPrivilegeEscalation"), sc.AllowPrivilegeEscalation != nil)
		forbid(security.Child("procMount"), sc.ProcMount != nil)
		forbid(security.Child("runAsUser"), sc.RunAsUser != nil)
		forbid(security.Child("runAsGroup"), sc.RunAsGroup != nil)
	}
	return f.Errs
}
