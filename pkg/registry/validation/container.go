package validation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// containerScope is what a container's checks need to know of its pod.
type containerScope struct {
	spec    *corev1.PodSpec
	volumes map[string]*corev1.VolumeSource
	claims  sets.Set[string]
}

func (s *containerScope) hostUsers() bool { return ptr.Deref(s.spec.HostUsers, true) }

// containers checks the regular containers.
func (s *containerScope) containers(path *field.Path) field.ErrorList {
	if len(s.spec.Containers) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	var f findings
	names := sets.New[string]()
	for i := range s.spec.Containers {
		c, path := &s.spec.Containers[i], path.Index(i)
		f.merge(s.container(path, c))
		f.addIf(names.Has(c.Name), field.Duplicate(path.Child("name"), c.Name))
		names.Insert(c.Name)
		f.merge(s.running(path, c), restartRules(path, c))
	}
	f.merge(hostPortConflicts(path, s.spec.Containers))
	return f.errs
}

// initContainers checks the init containers. Those that always restart are sidecars
// (KEP-753) and have what a regular container has.
func (s *containerScope) initContainers(path *field.Path) field.ErrorList {
	var f findings
	names := containerNames(s.spec.Containers)
	for i := range s.spec.InitContainers {
		c, idx := &s.spec.InitContainers[i], path.Index(i)
		f.merge(s.container(idx, c), restartRules(idx, c))
		f.addIf(names.Has(c.Name), field.Duplicate(idx.Child("name"), c.Name))
		if c.Name != "" {
			names.Insert(c.Name)
		}
		// They run one by one, so ports need to differ only within one.
		f.merge(hostPortConflicts(path, s.spec.InitContainers[i:i+1]))
		if isSidecar(c) {
			f.merge(s.running(idx, c))
			continue
		}
		f.merge(runsToCompletion(idx, c))
	}
	return f.errs
}

// runsToCompletion checks that an ordinary init container has nothing that only a
// container which keeps running can have.
func runsToCompletion(path *field.Path, c *corev1.Container) field.ErrorList {
	var f findings
	for _, set := range []struct {
		name string
		is   bool
	}{
		{"lifecycle", c.Lifecycle != nil},
		{"livenessProbe", c.LivenessProbe != nil},
		{"readinessProbe", c.ReadinessProbe != nil},
		{"startupProbe", c.StartupProbe != nil},
	} {
		f.addIf(set.is, field.Forbidden(path.Child(set.name), "may not be set for init containers without restartPolicy=Always"))
	}
	for i, p := range c.ResizePolicy {
		f.addIf(p.RestartPolicy == corev1.RestartContainer, field.Invalid(path.Child("resizePolicy").Index(i).Child("restartPolicy"),
			p.RestartPolicy, "must not be set to 'RestartContainer' for non-sidecar initContainers"))
	}
	return f.errs
}

func isSidecar(c *corev1.Container) bool {
	return ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
}

// ephemeralFields are the fields that an ephemeral container can have (KEP-277).
var ephemeralFields = sets.New("Name", "Image", "Command", "Args", "WorkingDir", "EnvFrom", "Env", "VolumeMounts",
	"VolumeDevices", "TerminationMessagePath", "TerminationMessagePolicy", "ImagePullPolicy", "SecurityContext",
	"Stdin", "StdinOnce", "TTY")

const notForEphemeral = "cannot be set for an Ephemeral Container"

// ephemeralContainers checks the containers that were added to a running pod.
func (s *containerScope) ephemeralContainers(path *field.Path) field.ErrorList {
	var f findings
	targets := containerNames(s.spec.Containers).Union(containerNames(s.spec.InitContainers))
	names := targets.Clone()
	for i := range s.spec.EphemeralContainers {
		e, path := &s.spec.EphemeralContainers[i], path.Index(i)
		c := corev1.Container(e.EphemeralContainerCommon)
		f.merge(s.container(path, &c), trimmedImage(path, &c))
		f.addIf(names.Has(e.Name), field.Duplicate(path.Child("name"), e.Name))
		names.Insert(e.Name)
		f.addIf(e.TargetContainerName != "" && !targets.Has(e.TargetContainerName),
			field.NotFound(path.Child("targetContainerName"), e.TargetContainerName))
		f.merge(onlyFields(path, e.EphemeralContainerCommon, ephemeralFields, notForEphemeral))
		for j, mount := range e.VolumeMounts {
			path := path.Child("volumeMounts").Index(j)
			f.addIf(mount.SubPath != "", field.Forbidden(path.Child("subPath"), notForEphemeral))
			f.addIf(mount.SubPathExpr != "", field.Forbidden(path.Child("subPathExpr"), notForEphemeral))
		}
	}
	return f.errs
}

func containerNames(containers []corev1.Container) sets.Set[string] {
	names := sets.New[string]()
	for i := range containers {
		names.Insert(containers[i].Name)
	}
	return names
}

// container checks what containers of all types have in common.
func (s *containerScope) container(path *field.Path, c *corev1.Container) field.ErrorList {
	var f findings
	f.merge(required(utilvalidation.IsDNS1123Label, path.Child("name"), c.Name))
	f.addIf(c.Image == "", field.Required(path.Child("image"), ""))
	f.merge(
		requiredOneOf(path.Child("terminationMessagePolicy"), c.TerminationMessagePolicy,
			corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError),
		containerPorts(path.Child("ports"), c.Ports),
		envVars(path.Child("env"), c.Env),
		envFrom(path.Child("envFrom"), c.EnvFrom),
		s.volumeMounts(path.Child("volumeMounts"), c),
		s.volumeDevices(path.Child("volumeDevices"), c),
		pullPolicy(path.Child("imagePullPolicy"), c.ImagePullPolicy),
		resourceRequirements(path.Child("resources"), &c.Resources, containerResourceName, s.claims),
		resizePolicies(path.Child("resizePolicy"), c.ResizePolicy, s.spec.RestartPolicy),
		containerSecurity(path.Child("securityContext"), c.SecurityContext, s.hostUsers()))
	return f.errs
}

// running checks what only a container that keeps running has.
func (s *containerScope) running(path *field.Path, c *corev1.Container) field.ErrorList {
	var f findings
	grace := s.spec.TerminationGracePeriodSeconds
	if c.Lifecycle != nil {
		f.merge(lifecycle(path.Child("lifecycle"), c.Lifecycle, grace, s.spec.OS))
	}
	f.merge(
		onceSuccessful(path.Child("livenessProbe"), c.LivenessProbe),
		readiness(path.Child("readinessProbe"), c.ReadinessProbe),
		onceSuccessful(path.Child("startupProbe"), c.StartupProbe))
	return f.errs
}

// trimmedImage is checked in pods, not in templates.
func trimmedImage(path *field.Path, c *corev1.Container) field.ErrorList {
	if strings.TrimSpace(c.Image) == c.Image {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("image"), c.Image, "must not have leading or trailing whitespace")}
}

func trimmedImages(path *field.Path, containers []corev1.Container) field.ErrorList {
	var f findings
	for i := range containers {
		f.merge(trimmedImage(path.Index(i), &containers[i]))
	}
	return f.errs
}

func pullPolicy(path *field.Path, policy corev1.PullPolicy) field.ErrorList {
	return requiredOneOf(path, policy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
}

func containerPorts(path *field.Path, ports []corev1.ContainerPort) field.ErrorList {
	var f findings
	names := sets.New[string]()
	for i, p := range ports {
		path := path.Index(i)
		if p.Name != "" {
			errs := follows(utilvalidation.IsValidPortName, path.Child("name"), p.Name)
			f.merge(errs)
			if len(errs) == 0 {
				f.addIf(names.Has(p.Name), field.Duplicate(path.Child("name"), p.Name))
				names.Insert(p.Name)
			}
		}
		if p.ContainerPort == 0 {
			f.add(field.Required(path.Child("containerPort"), ""))
		} else {
			f.merge(portNumber(path.Child("containerPort"), p.ContainerPort))
		}
		if p.HostPort != 0 {
			f.merge(portNumber(path.Child("hostPort"), p.HostPort))
		}
		f.merge(requiredOneOf(path.Child("protocol"), p.Protocol, protocols...))
	}
	return f.errs
}

// hostPortConflicts checks that no port of the host is taken twice.
func hostPortConflicts(path *field.Path, containers []corev1.Container) field.ErrorList {
	var f findings
	taken := sets.New[string]()
	for i := range containers {
		for j, p := range containers[i].Ports {
			if p.HostPort == 0 {
				continue
			}
			key := fmt.Sprintf("%s/%s/%d", p.Protocol, p.HostIP, p.HostPort)
			f.addIf(taken.Has(key), field.Duplicate(path.Index(i).Child("ports").Index(j).Child("hostPort"), key))
			taken.Insert(key)
		}
	}
	return f.errs
}

// resizePolicies checks what a change of resources does to the container (KEP-1287).
func resizePolicies(path *field.Path, policies []corev1.ContainerResizePolicy, restart corev1.RestartPolicy) field.ErrorList {
	var f findings
	seen := sets.New[corev1.ResourceName]()
	for i, p := range policies {
		f.addIf(seen.Has(p.ResourceName), field.Duplicate(path.Index(i), p.ResourceName))
		seen.Insert(p.ResourceName)
		f.merge(
			requiredOneOf(path, p.ResourceName, corev1.ResourceCPU, corev1.ResourceMemory),
			requiredOneOf(path, p.RestartPolicy, corev1.NotRequired, corev1.RestartContainer))
		f.addIf(restart == corev1.RestartPolicyNever && p.RestartPolicy != corev1.NotRequired,
			field.Invalid(path, p.RestartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
	}
	return f.errs
}

const (
	maxRestartRules     = 20
	maxRestartExitCodes = 255
)

// restartRules checks the container's own restart policy (KEP-5307).
func restartRules(path *field.Path, c *corev1.Container) field.ErrorList {
	var f findings
	policy, rules := path.Child("restartPolicy"), path.Child("restartPolicyRules")
	if c.RestartPolicy == nil {
		f.addIf(len(c.RestartPolicyRules) > 0, field.Required(policy, "must specify restartPolicy when restart rules are used"))
	}
	f.merge(optionalOneOf(policy, c.RestartPolicy, corev1.ContainerRestartPolicyAlways,
		corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure))
	if n := len(c.RestartPolicyRules); n > maxRestartRules {
		f.add(field.TooMany(rules, n, maxRestartRules))
	}
	for i, r := range c.RestartPolicyRules {
		path := rules.Index(i)
		f.merge(oneOf(path.Child("action"), r.Action,
			corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers))
		codes := path.Child("exitCodes")
		if r.ExitCodes == nil {
			f.add(field.Required(codes, "must be specified"))
			continue
		}
		f.merge(oneOf(codes.Child("operator"), r.ExitCodes.Operator,
			corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn))
		if n := len(r.ExitCodes.Values); n > maxRestartExitCodes {
			f.add(field.TooMany(codes.Child("values"), n, maxRestartExitCodes))
		}
	}
	return f.errs
}
