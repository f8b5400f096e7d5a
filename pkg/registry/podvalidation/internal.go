package podvalidation

import (
	"bytes"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// InternalPodSpec is written like kube-apiserver's internal pod spec, in which some fields have another place than in
// v1. The fields about sharing with the host are in the security context, which is always there.
type InternalPodSpec struct{ spec *corev1.PodSpec }

// InternalPodSpecOf converts a pod's spec to the internal form.
func InternalPodSpecOf(spec *corev1.PodSpec) InternalPodSpec { return InternalPodSpec{spec} }

// internalPodFields are the names of the internal type's fields, in order. SecurityContext is written separately.
var internalPodFields = []string{
	"Volumes", "InitContainers", "Containers", "EphemeralContainers", "RestartPolicy", "TerminationGracePeriodSeconds",
	"ActiveDeadlineSeconds", "DNSPolicy", "NodeSelector", "ServiceAccountName", "AutomountServiceAccountToken", "NodeName",
	"SecurityContext", "ImagePullSecrets", "Hostname", "Subdomain", "SetHostnameAsFQDN", "Affinity", "SchedulerName",
	"Tolerations", "HostAliases", "PriorityClassName", "Priority", "PreemptionPolicy", "DNSConfig", "ReadinessGates",
	"RuntimeClassName", "Overhead", "EnableServiceLinks", "TopologySpreadConstraints", "OS", "SchedulingGates",
	"ResourceClaims", "Resources", "HostnameOverride", "SchedulingGroup",
}

// These are the fields of the internal security context. Those from the pod's spec come first.
var (
	internalHostFields     = []string{"HostNetwork", "HostPID", "HostIPC", "ShareProcessNamespace", "HostUsers"}
	internalSecurityFields = []string{
		"SELinuxOptions", "WindowsOptions", "RunAsUser", "RunAsGroup", "RunAsNonRoot", "SupplementalGroups",
		"SupplementalGroupsPolicy", "FSGroup", "FSGroupChangePolicy", "Sysctls", "SeccompProfile", "AppArmorProfile",
		"SELinuxChangePolicy",
	}
)

// MarshalJSON implements json.Marshaler.
func (s InternalPodSpec) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	err := writeNamed(&b, reflect.ValueOf(*s.spec), internalPodFields, func(name string) (reflect.Value, bool) {
		return reflect.ValueOf(internalSecurityContext(s)), name == "SecurityContext"
	})
	return b.Bytes(), err
}

type internalSecurityContext struct{ spec *corev1.PodSpec }

func (s internalSecurityContext) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	sc := reflect.ValueOf(ptr.Deref(s.spec.SecurityContext, corev1.PodSecurityContext{}))
	names := append(internalHostFields[:len(internalHostFields):len(internalHostFields)], internalSecurityFields...)
	err := writeNamed(&b, reflect.ValueOf(*s.spec), names, func(name string) (reflect.Value, bool) {
		v := sc.FieldByName(name)
		return v, v.IsValid()
	})
	return b.Bytes(), err
}

// writeNamed writes fields of a struct under their Go names. If the function where has a value for a name, that value is
// written instead.
func writeNamed(b *bytes.Buffer, v reflect.Value, names []string, where func(string) (reflect.Value, bool)) error {
	return validation.WriteList(b, '{', '}', len(names), func(i int) error {
		value, own := where(names[i])
		if !own {
			value = v.FieldByName(names[i])
		}
		return validation.WriteMember(b, names[i], value)
	})
}
