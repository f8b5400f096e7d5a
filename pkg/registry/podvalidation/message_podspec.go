package podvalidation

import (
	"bytes"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// InternalPodSpec is a pod spec that marshals to JSON like kube-apiserver's internal pod spec, for error messages.
// In the internal pod spec, the fields about sharing with the host (such as hostNetwork) are in the security
// context, which always exists.
type InternalPodSpec struct{ spec *corev1.PodSpec }

// InternalPodSpecOf wraps a pod spec, so that it marshals to JSON like kube-apiserver's internal pod spec.
func InternalPodSpecOf(spec *corev1.PodSpec) InternalPodSpec { return InternalPodSpec{spec} }

// internalPodFields are the names of the fields of kube-apiserver's internal pod spec, in their order. The value
// of SecurityContext is an internalSecurityContext.
var internalPodFields = []string{
	"Volumes", "InitContainers", "Containers", "EphemeralContainers", "RestartPolicy", "TerminationGracePeriodSeconds",
	"ActiveDeadlineSeconds", "DNSPolicy", "NodeSelector", "ServiceAccountName", "AutomountServiceAccountToken", "NodeName",
	"SecurityContext", "ImagePullSecrets", "Hostname", "Subdomain", "SetHostnameAsFQDN", "Affinity", "SchedulerName",
	"Tolerations", "HostAliases", "PriorityClassName", "Priority", "PreemptionPolicy", "DNSConfig", "ReadinessGates",
	"RuntimeClassName", "Overhead", "EnableServiceLinks", "TopologySpreadConstraints", "OS", "SchedulingGates",
	"ResourceClaims", "Resources", "HostnameOverride", "SchedulingGroup",
}

// These are the names of the fields of kube-apiserver's internal security context, in their order. In v1,
// internalHostFields are in the pod spec, and internalSecurityFields are in the security context.
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

// writeNamed writes fields of a struct under their Go names. The function replaced can return another value for a
// name, in place of the value of the field.
func writeNamed(b *bytes.Buffer, v reflect.Value, names []string, replaced func(string) (reflect.Value, bool)) error {
	return validation.WriteList(b, '{', '}', len(names), func(i int) error {
		value, own := replaced(names[i])
		if !own {
			value = v.FieldByName(names[i])
		}
		return validation.WriteMember(b, names[i], value)
	})
}
