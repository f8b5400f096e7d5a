package warnings

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// deprecatedNodeLabels maps each deprecated label of nodes to the message of its warning.
var deprecatedNodeLabels = map[string]string{
	corev1.LabelFailureDomainBetaRegion: `deprecated since v1.17; use "topology.kubernetes.io/region" instead`,
	corev1.LabelFailureDomainBetaZone:   `deprecated since v1.17; use "topology.kubernetes.io/zone" instead`,
	corev1.LabelInstanceType:            `deprecated since v1.17; use "node.kubernetes.io/instance-type" instead`,
	"beta.kubernetes.io/arch":           `deprecated since v1.14; use "kubernetes.io/arch" instead`,
	"beta.kubernetes.io/os":             `deprecated since v1.14; use "kubernetes.io/os" instead`,
	"app.kubernetes.io/created-by":      `deprecated since v1.9`,
	"node-role.kubernetes.io/master":    `use "node-role.kubernetes.io/control-plane" instead`,
	// The annotation preferAvoidPods was never a label, but kube-apiserver warns of it as of a label.
	corev1.PreferAvoidPodsAnnotationKey: `deprecated since v1.22; use Taints and Tolerations instead`,
}

// NodeLabel warns of a deprecated node label. If the argument "repeat" is true, the warning repeats the label,
// because the path doesn't end with the label.
func (l *List) NodeLabel(path *field.Path, label string, repeat bool) {
	message, deprecated := deprecatedNodeLabels[label]
	switch {
	case !deprecated:
	case repeat:
		l.At(path, "%s is %s", label, message)
	default:
		l.At(path, "%s", message)
	}
}

// NodeSelector warns of deprecated node labels in a map. The argument "at" returns the path of a label.
func (l *List) NodeSelector(selector map[string]string, at func(label string) *field.Path) {
	for _, label := range slices.Sorted(maps.Keys(selector)) {
		l.NodeLabel(at(label), label, false)
	}
}

// NodeLabelSelector warns of deprecated node labels in a label selector.
func (l *List) NodeLabelSelector(path *field.Path, s *metav1.LabelSelector) {
	if s == nil {
		return
	}
	for i, requirement := range s.MatchExpressions {
		l.NodeLabel(path.Child("matchExpressions").Index(i).Child("key"), requirement.Key, true)
	}
	l.NodeSelector(s.MatchLabels, func(label string) *field.Path { return path.Child("matchLabels").Child(label) })
}

// NodeSelectorTerm warns of deprecated node labels in a term. If the argument "values" is true, it also warns of
// values that no label can have.
func (l *List) NodeSelectorTerm(path *field.Path, term *corev1.NodeSelectorTerm, values bool) {
	for i, requirement := range term.MatchExpressions {
		at := path.Child("matchExpressions").Index(i)
		l.NodeLabel(at.Child("key"), requirement.Key, true)
		if !values {
			continue
		}
		for j, value := range requirement.Values {
			for _, message := range validation.IsValidLabelValue(value) {
				l.At(at.Child("values").Index(j), "%s is invalid, %s", value, message)
			}
		}
	}
}
