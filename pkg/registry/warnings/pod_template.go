package warnings

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// deprecatedPodAnnotations are the annotations that fields of the pod spec have replaced.
var deprecatedPodAnnotations = []struct{ key, message string }{
	{"scheduler.alpha.kubernetes.io/critical-pod", `non-functional in v1.16+; use the "priorityClassName" field instead`},
	{"security.alpha.kubernetes.io/sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
	{"security.alpha.kubernetes.io/unsafe-sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
}

// PodTemplate adds the warnings about a pod template. The argument "path" is the path of the template, or nil for
// a pod.
func (l *List) PodTemplate(path *field.Path, t *corev1.PodTemplateSpec) {
	templateWarnings{l}.gather(path, t)
}

// templateWarnings collects the warnings about a pod template.
type templateWarnings struct{ *List }

func (l templateWarnings) gather(path *field.Path, t *corev1.PodTemplateSpec) {
	spec, annotations := path.Child("spec"), path.Child("metadata", "annotations")

	l.NodeSelector(t.Spec.NodeSelector, func(label string) *field.Path { return spec.Child("nodeSelector").Key(label) })
	l.nodeAffinity(spec.Child("affinity", "nodeAffinity"), t.Spec.Affinity)
	for i, constraint := range t.Spec.TopologySpreadConstraints {
		at := spec.Child("topologySpreadConstraints").Index(i)
		l.NodeLabel(at.Child("topologyKey"), constraint.TopologyKey, true)
		if constraint.LabelSelector == nil {
			l.noSelector(at)
		}
	}
	for _, deprecated := range deprecatedPodAnnotations {
		if _, ok := t.Annotations[deprecated.key]; ok {
			l.At(annotations.Key(deprecated.key), "%s", deprecated.message)
		}
	}
	l.volumes(spec.Child("volumes"), t.Spec.Volumes)
	l.duplicates(spec, &t.Spec)
	for _, name := range byteResources {
		l.byteAmount(spec.Child("overhead"), t.Spec.Overhead, name)
	}
	l.containers(path, t)
	if s := t.Spec.TerminationGracePeriodSeconds; s != nil && *s < 0 {
		l.At(spec.Child("terminationGracePeriodSeconds"), "must be >= 0; negative values are invalid and will be treated as 1")
	}
	l.podAffinity(spec.Child("affinity"), t.Spec.Affinity)
	l.addresses(spec, &t.Spec)
}

func (l templateWarnings) nodeAffinity(path *field.Path, affinity *corev1.Affinity) {
	if affinity == nil || affinity.NodeAffinity == nil {
		return
	}
	if required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		terms := path.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
		for i := range required.NodeSelectorTerms {
			l.NodeSelectorTerm(terms.Index(i), &required.NodeSelectorTerms[i], false)
		}
	}
	preferred := path.Child("preferredDuringSchedulingIgnoredDuringExecution")
	for i := range affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		term := &affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference
		l.NodeSelectorTerm(preferred.Index(i).Child("preference"), term, true)
	}
}

func (l templateWarnings) podAffinity(path *field.Path, affinity *corev1.Affinity) {
	if affinity == nil {
		return
	}
	terms := func(path *field.Path, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i, term := range required {
			if term.LabelSelector == nil {
				l.noSelector(path.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i))
			}
		}
		for i, term := range preferred {
			if term.PodAffinityTerm.LabelSelector == nil {
				l.noSelector(path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("podAffinityTerm"))
			}
		}
	}
	if a := affinity.PodAffinity; a != nil {
		terms(path.Child("podAffinity"),
			a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := affinity.PodAntiAffinity; a != nil {
		terms(path.Child("podAntiAffinity"),
			a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

// noSelector warns of a missing selector, which selects nothing. Users may expect that a missing selector selects
// everything, like an empty selector.
func (l templateWarnings) noSelector(path *field.Path) {
	l.At(path.Child("labelSelector"), "a null labelSelector results in matching no pod")
}

// duplicates warns of hostAliases with the same IP address and of imagePullSecrets with the same name, because
// server-side apply can't distinguish them. It also warns of imagePullSecrets without a name.
func (l templateWarnings) duplicates(path *field.Path, spec *corev1.PodSpec) {
	ips := map[string]bool{}
	for i, alias := range spec.HostAliases {
		if ips[alias.IP] {
			l.At(path.Child("hostAliases").Index(i).Child("ip"), "duplicate ip %q", alias.IP)
		}
		ips[alias.IP] = true
	}
	names := map[string]bool{}
	for i, secret := range spec.ImagePullSecrets {
		if names[secret.Name] {
			l.At(path.Child("imagePullSecrets").Index(i).Child("name"), "duplicate name %q", secret.Name)
		}
		names[secret.Name] = true
	}
	for i, secret := range spec.ImagePullSecrets {
		if secret.Name == "" {
			l.At(path.Child("imagePullSecrets").Index(i).Child("name"), "invalid empty name %q", secret.Name)
		}
	}
}

// byteResources are the resources of containers that are counted in bytes.
var byteResources = []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage}

// byteAmount warns of an amount with a fraction of a byte.
func (l templateWarnings) byteAmount(path *field.Path, amounts corev1.ResourceList, name corev1.ResourceName) {
	if q, ok := amounts[name]; ok {
		l.wholeBytes(path.Key(string(name)), q)
	}
}

func (l templateWarnings) addresses(path *field.Path, spec *corev1.PodSpec) {
	if spec.DNSConfig != nil {
		for i, server := range spec.DNSConfig.Nameservers {
			l.IP(path.Child("dnsConfig", "nameservers").Index(i), server)
		}
	}
	for i, alias := range spec.HostAliases {
		l.IP(path.Child("hostAliases").Index(i).Child("ip"), alias.IP)
	}
}
