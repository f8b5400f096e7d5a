package podvalidation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// containerScope has the data about a pod that the checks of its containers need.
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
	var f validation.Findings
	names := sets.New[string]()
	for i := range s.spec.Containers {
		c, path := &s.spec.Containers[i], path.Index(i)
		f.Merge(s.container(path, c))
		f.AddIf(names.Has(c.Name), field.Duplicate(path.Child("name"), c.Name))
		names.Insert(c.Name)
		f.Merge(s.running(path, c), restartRules(path, c, false))
	}
	f.Merge(hostPortConflicts(path, s.spec.Containers))
	return f.Errs
}

// initContainers checks the init containers. An init container with the restart policy Always is a sidecar
// (KEP-753), and can have all fields of a regular container.
func (s *containerScope) initContainers(path *field.Path) field.ErrorList {
	var f validation.Findings
	names := ContainerNames(s.spec.Containers)
	for i := range s.spec.InitContainers {
		c, idx := &s.spec.InitContainers[i], path.Index(i)
		f.Merge(s.container(idx, c), restartRules(idx, c, true))
		f.AddIf(names.Has(c.Name), field.Duplicate(idx.Child("name"), c.Name))
		if c.Name != "" {
			names.Insert(c.Name)
		}
		// Init containers run one after the other, so two of them may use the same port.
		f.Merge(hostPortConflicts(path, s.spec.InitContainers[i:i+1]))
		if podspec.IsSidecar(c) {
			f.Merge(s.running(idx, c))
			continue
		}
		f.Merge(runsToCompletion(idx, c))
	}
	return f.Errs
}

// runsToCompletion checks an init container that runs to completion, unlike a sidecar. It refuses the fields that
// are only for containers that keep running.
func runsToCompletion(path *field.Path, c *corev1.Container) field.ErrorList {
	var f validation.Findings
	for _, set := range []struct {
		name string
		is   bool
	}{
		{"lifecycle", c.Lifecycle != nil},
		{"livenessProbe", c.LivenessProbe != nil},
		{"readinessProbe", c.ReadinessProbe != nil},
		{"startupProbe", c.StartupProbe != nil},
	} {
		f.AddIf(set.is, field.Forbidden(path.Child(set.name), "may not be set for init containers without restartPolicy=Always"))
	}
	for i, p := range c.ResizePolicy {
		f.AddIf(p.RestartPolicy == corev1.RestartContainer, field.Invalid(path.Child("resizePolicy").Index(i).Child("restartPolicy"),
			p.RestartPolicy, "must not be set to 'RestartContainer' for non-sidecar initContainers"))
	}
	return f.Errs
}

// ephemeralFields are the fields that an ephemeral container may have (KEP-277).
var ephemeralFields = sets.New("Name", "Image", "Command", "Args", "WorkingDir", "EnvFrom", "Env", "VolumeMounts",
	"VolumeDevices", "TerminationMessagePath", "TerminationMessagePolicy", "ImagePullPolicy", "SecurityContext",
	"Stdin", "StdinOnce", "TTY")

const notForEphemeral = "cannot be set for an Ephemeral Container"

// ephemeralContainers checks the ephemeral containers, which are added to a running pod.
func (s *containerScope) ephemeralContainers(path *field.Path) field.ErrorList {
	var f validation.Findings
	targets := ContainerNames(s.spec.Containers).Union(ContainerNames(s.spec.InitContainers))
	names := targets.Clone()
	for i := range s.spec.EphemeralContainers {
		e, path := &s.spec.EphemeralContainers[i], path.Index(i)
		c := corev1.Container(e.EphemeralContainerCommon)
		f.Merge(s.container(path, &c), TrimmedImage(path, &c))
		f.AddIf(names.Has(e.Name), field.Duplicate(path.Child("name"), e.Name))
		names.Insert(e.Name)
		f.AddIf(e.TargetContainerName != "" && !targets.Has(e.TargetContainerName),
			field.NotFound(path.Child("targetContainerName"), e.TargetContainerName))
		f.Merge(onlyFields(path, e.EphemeralContainerCommon, ephemeralFields, notForEphemeral))
		for j, mount := range e.VolumeMounts {
			path := path.Child("volumeMounts").Index(j)
			f.AddIf(mount.SubPath != "", field.Forbidden(path.Child("subPath"), notForEphemeral))
			f.AddIf(mount.SubPathExpr != "", field.Forbidden(path.Child("subPathExpr"), notForEphemeral))
		}
	}
	return f.Errs
}

// ContainerNames returns the names of containers.
func ContainerNames(containers []corev1.Container) sets.Set[string] {
	names := sets.New[string]()
	for i := range containers {
		names.Insert(containers[i].Name)
	}
	return names
}

// container checks the fields that all containers have.
func (s *containerScope) container(path *field.Path, c *corev1.Container) field.ErrorList {
	var f validation.Findings
	f.Merge(validation.Required(utilvalidation.IsDNS1123Label, path.Child("name"), c.Name))
	f.AddIf(c.Image == "", field.Required(path.Child("image"), ""))
	f.Merge(
		validation.RequiredOneOf(path.Child("terminationMessagePolicy"), c.TerminationMessagePolicy,
			corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError),
		containerPorts(path.Child("ports"), c.Ports),
		envVars(path.Child("env"), c.Env),
		envFrom(path.Child("envFrom"), c.EnvFrom),
		s.volumeMounts(path.Child("volumeMounts"), c),
		s.volumeDevices(path.Child("volumeDevices"), c),
		pullPolicy(path.Child("imagePullPolicy"), c.ImagePullPolicy),
		validation.ResourceRequirements(path.Child("resources"), &c.Resources, validation.ContainerResourceName, s.claims),
		resizePolicies(path.Child("resizePolicy"), c.ResizePolicy, s.spec.RestartPolicy),
		containerSecurity(path.Child("securityContext"), c.SecurityContext, s.hostUsers()))
	return f.Errs
}

// running checks the lifecycle and the probes of a container. Only a container that keeps running may have them.
func (s *containerScope) running(path *field.Path, c *corev1.Container) field.ErrorList {
	var f validation.Findings
	grace := s.spec.TerminationGracePeriodSeconds
	if c.Lifecycle != nil {
		f.Merge(lifecycle(path.Child("lifecycle"), c.Lifecycle, grace, s.spec.OS))
	}
	f.Merge(
		onceSuccessful(path.Child("livenessProbe"), c.LivenessProbe),
		readiness(path.Child("readinessProbe"), c.ReadinessProbe),
		onceSuccessful(path.Child("startupProbe"), c.StartupProbe))
	return f.Errs
}

// TrimmedImage checks that the name of an image doesn't begin or end with white space. Only pods have this rule,
// and not pod templates.
func TrimmedImage(path *field.Path, c *corev1.Container) field.ErrorList {
	if strings.TrimSpace(c.Image) == c.Image {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("image"), c.Image, "must not have leading or trailing whitespace")}
}

func pullPolicy(path *field.Path, policy corev1.PullPolicy) field.ErrorList {
	return validation.RequiredOneOf(path, policy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
}

func containerPorts(path *field.Path, ports []corev1.ContainerPort) field.ErrorList {
	var f validation.Findings
	names := sets.New[string]()
	for i, p := range ports {
		path := path.Index(i)
		if p.Name != "" {
			errs := validation.Follows(utilvalidation.IsValidPortName, path.Child("name"), p.Name)
			f.Merge(errs)
			if len(errs) == 0 {
				f.AddIf(names.Has(p.Name), field.Duplicate(path.Child("name"), p.Name))
				names.Insert(p.Name)
			}
		}
		if p.ContainerPort == 0 {
			f.Add(field.Required(path.Child("containerPort"), ""))
		} else {
			f.Merge(validation.PortNumber(path.Child("containerPort"), p.ContainerPort))
		}
		if p.HostPort != 0 {
			f.Merge(validation.PortNumber(path.Child("hostPort"), p.HostPort))
		}
		f.Merge(validation.RequiredOneOf(path.Child("protocol"), p.Protocol, validation.Protocols...))
	}
	return f.Errs
}

// hostPortConflicts checks that no two ports use the same port of the host with the same protocol and host address.
func hostPortConflicts(path *field.Path, containers []corev1.Container) field.ErrorList {
	var f validation.Findings
	taken := sets.New[string]()
	for i := range containers {
		for j, p := range containers[i].Ports {
			if p.HostPort == 0 {
				continue
			}
			key := fmt.Sprintf("%s/%s/%d", p.Protocol, p.HostIP, p.HostPort)
			f.AddIf(taken.Has(key), field.Duplicate(path.Index(i).Child("ports").Index(j).Child("hostPort"), key))
			taken.Insert(key)
		}
	}
	return f.Errs
}

// resizePolicies checks the list resizePolicy, which says whether a container restarts when its resources change
// (KEP-1287).
func resizePolicies(path *field.Path, policies []corev1.ContainerResizePolicy, restart corev1.RestartPolicy) field.ErrorList {
	var f validation.Findings
	seen := sets.New[corev1.ResourceName]()
	for i, p := range policies {
		f.AddIf(seen.Has(p.ResourceName), field.Duplicate(path.Index(i), p.ResourceName))
		seen.Insert(p.ResourceName)
		f.Merge(
			validation.RequiredOneOf(path, p.ResourceName, corev1.ResourceCPU, corev1.ResourceMemory),
			validation.RequiredOneOf(path, p.RestartPolicy, corev1.NotRequired, corev1.RestartContainer))
		f.AddIf(restart == corev1.RestartPolicyNever && p.RestartPolicy != corev1.NotRequired,
			field.Invalid(path, p.RestartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
	}
	return f.Errs
}

const (
	maxRestartRules     = 20
	maxRestartExitCodes = 255
)

// restartRules checks the restart policy of a container, and its rules for exit codes (KEP-5307). As in kube-apiserver,
// the rules of an init container without a restart policy aren't checked.
func restartRules(path *field.Path, c *corev1.Container, init bool) field.ErrorList {
	var f validation.Findings
	policy, rules := path.Child("restartPolicy"), path.Child("restartPolicyRules")
	if c.RestartPolicy == nil {
		f.AddIf(len(c.RestartPolicyRules) > 0, field.Required(policy, "must specify restartPolicy when restart rules are used"))
		if init {
			return f.Errs
		}
	}
	f.Merge(validation.OptionalOneOf(policy, c.RestartPolicy, corev1.ContainerRestartPolicyAlways,
		corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure))
	f.Merge(validation.Few(rules, len(c.RestartPolicyRules), maxRestartRules))
	for i, r := range c.RestartPolicyRules {
		path := rules.Index(i)
		f.Merge(validation.OneOf(path.Child("action"), r.Action,
			corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers))
		codes := path.Child("exitCodes")
		if r.ExitCodes == nil {
			f.Add(field.Required(codes, "must be specified"))
			continue
		}
		f.Merge(validation.OneOf(codes.Child("operator"), r.ExitCodes.Operator,
			corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn))
		f.Merge(validation.Few(codes.Child("values"), len(r.ExitCodes.Values), maxRestartExitCodes))
	}
	return f.Errs
}
