package podvalidation

import (
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// PodSpec checks the spec of a pod or of a pod template. The argument pod is the metadata of the pod, or nil for a
// template.
func PodSpec(path *field.Path, spec *corev1.PodSpec, pod *metav1.ObjectMeta) field.ErrorList {
	var f validation.Findings
	f.AddIf(spec.TerminationGracePeriodSeconds == nil, field.Required(path.Child("terminationGracePeriodSeconds"), ""))

	vols, errs := volumes(path.Child("volumes"), spec.Volumes, pod)
	f.Merge(errs)
	scope := &containerScope{spec: spec, volumes: vols, claims: PodClaimNames(spec.ResourceClaims)}
	f.Merge(
		podClaims(path.Child("resourceClaims"), spec.ResourceClaims, pod),
		scope.containers(path.Child("containers")),
		scope.initContainers(path.Child("initContainers")),
		scope.ephemeralContainers(path.Child("ephemeralContainers")),
		podResources(path.Child("resources"), spec, scope.claims),
		hostNetworkPorts(path.Child("containers"), spec, pod != nil),
		validation.RequiredOneOf(path.Child("restartPolicy"), spec.RestartPolicy,
			corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever),
		validation.RequiredOneOf(path.Child("dnsPolicy"), spec.DNSPolicy,
			corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone),
		metav1validation.ValidateLabels(spec.NodeSelector, path.Child("nodeSelector")),
		podSecurity(path.Child("securityContext"), spec),
		sharedProcessNamespace(path.Child("shareProcessNamespace"), spec),
		affinity(path.Child("affinity"), spec.Affinity),
		dnsConfig(path.Child("dnsConfig"), spec.DNSConfig, spec.DNSPolicy),
		readinessGates(path.Child("readinessGates"), spec.ReadinessGates),
		schedulingGates(path.Child("schedulingGates"), spec.SchedulingGates),
		topologySpread(path.Child("topologySpreadConstraints"), spec.TopologySpreadConstraints),
		hostProcess(path, spec),
		userNamespace(path, spec),
		hostnameOverride(path.Child("hostnameOverride"), spec))
	for _, name := range []struct {
		field, value string
		rule         validation.Rule
	}{
		{"serviceAccountName", spec.ServiceAccountName, validation.Named(apivalidation.ValidateServiceAccountName)},
		{"nodeName", spec.NodeName, validation.ObjectName},
	} {
		if name.value != "" {
			f.Merge(validation.Follows(name.rule, path.Child(name.field), name.value))
		}
	}
	if deadline := spec.ActiveDeadlineSeconds; deadline != nil {
		f.Merge(DeadlineBetween(path, *deadline, 1))
	}
	for _, name := range []struct{ field, value string }{{"hostname", spec.Hostname}, {"subdomain", spec.Subdomain}} {
		if name.value != "" {
			f.Merge(validation.Follows(utilvalidation.IsDNS1123Label, path.Child(name.field), name.value))
		}
	}
	f.Merge(
		Tolerations(path.Child("tolerations"), spec.Tolerations),
		hostAliases(path.Child("hostAliases"), spec.HostAliases))
	if spec.PriorityClassName != "" {
		f.Merge(validation.Follows(validation.ObjectName, path.Child("priorityClassName"), spec.PriorityClassName))
	}
	if spec.RuntimeClassName != nil {
		f.Merge(validation.Follows(validation.ObjectName, path.Child("runtimeClassName"), *spec.RuntimeClassName))
	}
	if spec.PreemptionPolicy != nil {
		f.Merge(validation.RequiredOneOf(path.Child("preemptionPolicy"), *spec.PreemptionPolicy, corev1.PreemptLowerPriority, corev1.PreemptNever))
	}
	if spec.Overhead != nil {
		f.Merge(validation.ResourceRequirements(path.Child("overhead"), &corev1.ResourceRequirements{Limits: spec.Overhead}, validation.ContainerResourceName, nil))
	}
	f.Merge(podOS(path, spec), schedulingGroup(path.Child("schedulingGroup"), spec.SchedulingGroup), fileKeyVolumes(path, spec))
	return f.Errs
}

// DeadlineBetween checks that activeDeadlineSeconds of a pod is at least the argument "least" and at most 2147483647.
func DeadlineBetween(spec *field.Path, seconds int64, least int) field.ErrorList {
	if seconds >= int64(least) && seconds <= math.MaxInt32 {
		return nil
	}
	return field.ErrorList{field.Invalid(spec.Child("activeDeadlineSeconds"), seconds, utilvalidation.InclusiveRangeError(least, math.MaxInt32))}
}

// PodClaimNames returns the names of the resource claims in a pod spec.
func PodClaimNames(claims []corev1.PodResourceClaim) sets.Set[string] {
	names := sets.New[string]()
	for _, c := range claims {
		if c.Name != "" {
			names.Insert(c.Name)
		}
	}
	return names
}

// podClaims checks the resource claims of a pod (KEP-4381).
func podClaims(path *field.Path, claims []corev1.PodResourceClaim, pod *metav1.ObjectMeta) field.ErrorList {
	var f validation.Findings
	seen := sets.New[string]()
	for i, c := range claims {
		if pod != nil && IsMirror(pod) {
			f.Add(field.Forbidden(field.NewPath(""), "static pods do not support resource claims"))
			continue
		}
		path := path.Index(i)
		if seen.Has(c.Name) {
			f.Add(field.Duplicate(path.Child("name"), c.Name))
		} else {
			f.Merge(validation.Required(utilvalidation.IsDNS1123Label, path.Child("name"), c.Name))
		}
		if c.Name != "" {
			seen.Insert(c.Name)
		}
		f.AddIf(c.ResourceClaimName != nil && c.ResourceClaimTemplateName != nil, field.Invalid(path, validation.Unversioned(c),
			"at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"))
		f.AddIf(c.ResourceClaimName == nil && c.ResourceClaimTemplateName == nil, field.Invalid(path, validation.Unversioned(c),
			"must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"))
		if name := c.ResourceClaimName; name != nil {
			f.Merge(validation.Follows(validation.ObjectName, path.Child("resourceClaimName"), *name))
		}
		if name := c.ResourceClaimTemplateName; name != nil {
			f.Merge(validation.Follows(validation.ObjectName, path.Child("resourceClaimTemplateName"), *name))
		}
	}
	return f.Errs
}

// hostNetworkPorts checks that hostPort equals containerPort, for a pod in the host's network. A template may
// leave hostPort out.
func hostNetworkPorts(path *field.Path, spec *corev1.PodSpec, isPod bool) field.ErrorList {
	var f validation.Findings
	if !spec.HostNetwork {
		return nil
	}
	for i := range spec.Containers {
		for j, p := range spec.Containers[i].Ports {
			f.AddIf((isPod || p.HostPort != 0) && p.HostPort != p.ContainerPort,
				field.Invalid(path.Index(i).Child("ports").Index(j).Child("hostPort"), p.HostPort,
					"must match `containerPort` when `hostNetwork` is true"))
		}
	}
	return f.Errs
}

// The limits of dnsConfig. Kubernetes derives them from the limits of libc's resolver.
const (
	maxNameservers     = 3
	maxSearchPaths     = 32
	maxSearchListChars = 2048
)

func dnsConfig(path *field.Path, c *corev1.PodDNSConfig, policy corev1.DNSPolicy) field.ErrorList {
	servers, searches := path.Child("nameservers"), path.Child("searches")
	switch {
	case policy == corev1.DNSNone && c == nil:
		return field.ErrorList{field.Required(path, "must provide `dnsConfig` when `dnsPolicy` is None")}
	case policy == corev1.DNSNone && len(c.Nameservers) == 0:
		return field.ErrorList{field.Required(servers, "must provide at least one DNS nameserver when `dnsPolicy` is None")}
	case c == nil:
		return nil
	}
	var f validation.Findings
	f.AddIf(len(c.Nameservers) > maxNameservers, field.Invalid(servers, c.Nameservers,
		fmt.Sprintf("must not have more than %v nameservers", maxNameservers)))
	for i, server := range c.Nameservers {
		f.Merge(validation.LegacyIP(servers.Index(i), server, nil))
	}
	f.AddIf(len(c.Searches) > maxSearchPaths, field.Invalid(searches, c.Searches,
		fmt.Sprintf("must not have more than %v search paths", maxSearchPaths)))
	f.AddIf(len(strings.Join(c.Searches, " ")) > maxSearchListChars, field.Invalid(searches, c.Searches,
		fmt.Sprintf("must not have more than %v characters (including spaces) in the search list", maxSearchListChars)))
	for i, search := range c.Searches {
		if search != "." {
			f.Merge(validation.Follows(utilvalidation.IsDNS1123SubdomainWithUnderscore, searches.Index(i), strings.TrimSuffix(search, ".")))
		}
	}
	for i, option := range c.Options {
		f.AddIf(option.Name == "", field.Required(path.Child("options").Index(i), "must not be empty"))
	}
	return f.Errs
}

func hostAliases(path *field.Path, aliases []corev1.HostAlias) field.ErrorList {
	var f validation.Findings
	for i, alias := range aliases {
		f.Merge(validation.LegacyIP(path.Index(i).Child("ip"), alias.IP, nil))
		for j, name := range alias.Hostnames {
			f.Merge(validation.Follows(utilvalidation.IsDNS1123Subdomain, path.Index(i).Child("hostnames").Index(j), name))
		}
	}
	return f.Errs
}

// readinessGates checks the conditions on which the readiness of a pod depends (KEP-580).
func readinessGates(path *field.Path, gates []corev1.PodReadinessGate) field.ErrorList {
	var f validation.Findings
	for i, gate := range gates {
		f.Merge(validation.Qualified(path.Index(i).Child("conditionType"), string(gate.ConditionType)))
	}
	return f.Errs
}

// maxHostname is the length of the longest host name on Linux.
const maxHostname = 64

// hostnameOverride checks spec.hostnameOverride, the host name inside of the pod (KEP-4762).
func hostnameOverride(path *field.Path, spec *corev1.PodSpec) field.ErrorList {
	if spec.HostnameOverride == nil {
		return nil
	}
	var f validation.Findings
	f.AddIf(ptr.Deref(spec.SetHostnameAsFQDN, false), field.Forbidden(path, "may not be specified when setHostnameAsFQDN is true"))
	f.AddIf(spec.HostNetwork, field.Forbidden(path, "may not be specified when hostNetwork is true"))
	f.AddIf(len(*spec.HostnameOverride) > maxHostname, field.TooLong(path, "", maxHostname))
	f.Merge(validation.Follows(utilvalidation.IsDNS1123Subdomain, path, *spec.HostnameOverride))
	return f.Errs
}

func schedulingGroup(path *field.Path, g *corev1.PodSchedulingGroup) field.ErrorList {
	switch name := path.Child("podGroupName"); {
	case g == nil:
		return nil
	case g.PodGroupName == nil:
		return field.ErrorList{field.Invalid(name, g.PodGroupName, "must specify one of: `podGroupName`")}
	default:
		return validation.Follows(validation.ObjectName, name, *g.PodGroupName)
	}
}
