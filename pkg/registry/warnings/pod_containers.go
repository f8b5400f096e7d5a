package warnings

import (
	"fmt"
	"iter"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
)

// AppArmorMessage is the warning about AppArmor annotations.
const AppArmorMessage = `deprecated since v1.30; use the "appArmorProfile" field instead`

// containers adds the warnings about the containers of a pod template.
func (l templateWarnings) containers(path *field.Path, t *corev1.PodTemplateSpec) {
	annotations := path.Child("metadata", "annotations")
	all := podspec.Containers(&t.Spec, path.Child("spec"))
	if t.Spec.SecurityContext == nil || t.Spec.SecurityContext.SeccompProfile == nil {
		l.seccomp(annotations, &t.ObjectMeta, corev1.SeccompPodAnnotationKey)
	}
	for at, c := range all {
		if c.SecurityContext == nil || c.SecurityContext.SeccompProfile == nil {
			l.seccomp(annotations, &t.ObjectMeta, corev1.SeccompContainerAnnotationKeyPrefix+c.Name)
		}
		hasProfile := podspec.AppArmorProfile(&t.Spec) != nil ||
			c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil
		key := corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + c.Name
		// For a pod (path is nil), package core/pod warns of this annotation.
		if _, annotated := t.Annotations[key]; annotated && path != nil && !hasProfile {
			l.At(annotations.Key(key), AppArmorMessage)
		}
		for _, name := range byteResources {
			l.byteAmount(at.Child("resources", "limits"), c.Resources.Limits, name)
			l.byteAmount(at.Child("resources", "requests"), c.Resources.Requests, name)
		}
		l.environment(at.Child("env"), c.Env)
	}
	l.ports(all)
	l.portNames(all)
}

func (l templateWarnings) seccomp(path *field.Path, meta *metav1.ObjectMeta, key string) {
	if _, ok := meta.Annotations[key]; ok {
		l.At(path.Key(key), `non-functional in v1.27+; use the "seccompProfile" field instead`)
	}
}

// environment warns of a variable that hides an earlier variable of the same name. It doesn't warn if the later
// variable extends the value of the earlier variable, as PATH=$(PATH):/bin does.
func (l templateWarnings) environment(path *field.Path, env []corev1.EnvVar) {
	seen := map[string]bool{}
	for i, v := range env {
		reference := "$(" + v.Name + ")"
		extends := v.ValueFrom == nil && v.Value != reference && strings.Contains(v.Value, reference)
		if seen[v.Name] && !extends {
			l.At(path.Index(i), "hides previous definition of %q, which may be dropped when using apply", v.Name)
		}
		seen[v.Name] = true
	}
}

// ports warns of ports that are defined twice, of ports that are ambiguous, and of a hostIP without a hostPort.
func (l templateWarnings) ports(all iter.Seq2[*field.Path, *corev1.Container]) {
	type definition struct {
		path *field.Path
		port corev1.ContainerPort
	}
	defined := map[string][]definition{}
	for at, c := range all {
		for i, port := range c.Ports {
			path := at.Child("ports").Index(i)
			if port.HostIP != "" && port.HostPort == 0 {
				l.At(path, "hostIP set without hostPort: %+v", port)
			}
			key := fmt.Sprintf("%d/%s", port.ContainerPort, port.Protocol)
			for _, other := range defined[key] {
				if relation := portRelation(port, other.port); relation != "" {
					l.At(path, "%s port definition with %s", relation, other.path)
				}
			}
			defined[key] = append(defined[key], definition{path, port})
		}
	}
}

// portRelation describes the conflict of two definitions of the same container port and protocol. The result is "" if
// there is no conflict. Two definitions with the same hostPort are ambiguous if only one of them has a hostIP. A
// definition without a hostIP is for all addresses of the host, so it includes the hostIP of the other definition.
func portRelation(a, b corev1.ContainerPort) string {
	switch {
	case a.HostIP == b.HostIP && a.HostPort == b.HostPort:
		return "duplicate"
	case a.HostPort == 0 || b.HostPort == 0:
		return "overlapping"
	case a.HostPort == b.HostPort && (a.HostIP == "") != (b.HostIP == ""):
		return "dangerously ambiguous"
	}
	return ""
}

// portNames warns of a name that several ports have. Services and probes use the first port with the name.
func (l templateWarnings) portNames(all iter.Seq2[*field.Path, *corev1.Container]) {
	named := map[string]*field.Path{}
	for at, c := range all {
		for i, port := range c.Ports {
			if port.Name == "" {
				continue
			}
			path := at.Child("ports").Index(i)
			if first, ok := named[port.Name]; ok {
				l.At(path, "duplicate port name %q with %s, services and probes that select ports by name will use %s",
					port.Name, first, first)
			} else {
				named[port.Name] = path
			}
		}
	}
}
