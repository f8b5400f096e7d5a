package podvalidation

import (
	"bytes"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// InternalPodSpec is written as kube-apiserver's internal pod spec, where some fields
// have another place than in v1: whatever is shared with the host is in the security
// context, which is always there.
type InternalPodSpec struct{ spec *corev1.PodSpec }

// InternalPodSpecOf is a pod's spec as the internal one.
func InternalPodSpecOf(spec *corev1.PodSpec) InternalPodSpec { return InternalPodSpec{spec} }

// internalPodFields are the names of the internal type, in its order. SecurityContext
// is written apart.
var internalPodFields = []string{
	"Volumes", "InitContainers", "Containers", "EphemeralContainers", "RestartPolicy", "TerminationGracePeriodSeconds",
	"ActiveDeadlineSeconds", "DNSPolicy", "NodeSelector", "ServiceAccountName", "AutomountServiceAccountToken", "NodeName",
	"SecurityContext", "ImagePullSecrets", "Hostname", "Subdomain", "SetHostnameAsFQDN", "Affinity", "SchedulerName",
	"Tolerations", "HostAliases", "PriorityClassName", "Priority", "PreemptionPolicy", "DNSConfig", "ReadinessGates",
	"RuntimeClassName", "Overhead", "EnableServiceLinks", "TopologySpreadConstraints", "OS", "SchedulingGates",
	"ResourceClaims", "Resources", "HostnameOverride", "SchedulingGroup",
}

// internalSecurityFields are those of the security context, from the pod's spec first.
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

// writeNamed writes fields of a struct under their Go names; where has one of its own
// for a name, that is written.
func writeNamed(b *bytes.Buffer, v reflect.Value, names []string, where func(string) (reflect.Value, bool)) error {
	return validation.WriteList(b, '{', '}', len(names), func(i int) error {
		value, own := where(names[i])
		if !own {
			value = v.FieldByName(names[i])
		}
		return validation.WriteMember(b, names[i], value)
	})
}
