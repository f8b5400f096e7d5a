package podvalidation

import (
	"fmt"

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

const (
	// RequiredTerms is the name of the field of an affinity that has the required terms.
	RequiredTerms  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferredTerms = "preferredDuringSchedulingIgnoredDuringExecution"
)

func affinity(path *field.Path, a *corev1.Affinity) field.ErrorList {
	if a == nil {
		return nil
	}
	var f validation.Findings
	if n := a.NodeAffinity; n != nil {
		path := path.Child("nodeAffinity")
		if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			f.Merge(NodeSelector(path.Child(RequiredTerms), n.RequiredDuringSchedulingIgnoredDuringExecution))
		}
		for i, term := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			path := path.Child(preferredTerms).Index(i)
			// A preferred term may have values that aren't valid label values. Such a term is valid, and matches no
			// node.
			f.Merge(weight(path, term.Weight), nodeSelectorTerm(path.Child("preference"), &term.Preference, false))
		}
	}
	if p := a.PodAffinity; p != nil {
		f.Merge(podTerms(path.Child("podAffinity"), p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution))
	}
	if p := a.PodAntiAffinity; p != nil {
		f.Merge(podTerms(path.Child("podAntiAffinity"), p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution))
	}
	return f.Errs
}

func weight(path *field.Path, w int32) field.ErrorList {
	if 1 <= w && w <= 100 {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("weight"), w, "must be in the range 1-100")}
}

// NodeSelector checks a selector of nodes.
func NodeSelector(path *field.Path, s *corev1.NodeSelector) field.ErrorList {
	terms := path.Child("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		return field.ErrorList{field.Required(terms, "must have at least one node selector term")}
	}
	var f validation.Findings
	for i := range s.NodeSelectorTerms {
		f.Merge(nodeSelectorTerm(terms.Index(i), &s.NodeSelectorTerms[i], true))
	}
	return f.Errs
}

// nodeSelectorTerm checks a term. If the argument "values" is true, the values in the term must be valid label
// values.
func nodeSelectorTerm(path *field.Path, t *corev1.NodeSelectorTerm, values bool) field.ErrorList {
	var f validation.Findings
	for i := range t.MatchExpressions {
		f.Merge(nodeLabelRequirement(path.Child("matchExpressions").Index(i), &t.MatchExpressions[i], values))
	}
	for i := range t.MatchFields {
		f.Merge(nodeFieldRequirement(path.Child("matchFields").Index(i), &t.MatchFields[i]))
	}
	return f.Errs
}

const notAnOperator = "not a valid selector operator"

func nodeLabelRequirement(path *field.Path, r *corev1.NodeSelectorRequirement, values bool) field.ErrorList {
	var f validation.Findings
	at := path.Child("values")
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		f.AddIf(len(r.Values) == 0, field.Required(at, "must be specified when `operator` is 'In' or 'NotIn'"))
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		f.AddIf(len(r.Values) > 0, field.Forbidden(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		f.AddIf(len(r.Values) != 1, field.Required(at, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
	default:
		f.Add(field.Invalid(path.Child("operator"), r.Operator, notAnOperator))
	}
	f.Merge(metav1validation.ValidateLabelName(r.Key, path.Child("key")))
	if values {
		for i, v := range r.Values {
			f.Merge(validation.Follows(utilvalidation.IsValidLabelValue, at.Index(i), v))
		}
	}
	return f.Errs
}

func nodeFieldRequirement(path *field.Path, r *corev1.NodeSelectorRequirement) field.ErrorList {
	var f validation.Findings
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		f.AddIf(len(r.Values) != 1, field.Required(path.Child("values"),
			"must be only one value when `operator` is 'In' or 'NotIn' for node field selector"))
	default:
		f.Add(field.Invalid(path.Child("operator"), r.Operator, notAnOperator))
	}
	if r.Key != metav1.ObjectNameField {
		f.Add(field.Invalid(path.Child("key"), r.Key, "not a valid field selector key"))
		return f.Errs
	}
	for i, v := range r.Values {
		f.Merge(validation.Follows(validation.ObjectName, path.Child("values").Index(i), v))
	}
	return f.Errs
}

func podTerms(path *field.Path, hard []corev1.PodAffinityTerm, soft []corev1.WeightedPodAffinityTerm) field.ErrorList {
	var f validation.Findings
	for i := range hard {
		f.Merge(podTerm(path.Child(RequiredTerms).Index(i), &hard[i]))
	}
	for i := range soft {
		path := path.Child(preferredTerms).Index(i)
		f.Merge(weight(path, soft[i].Weight), podTerm(path.Child("podAffinityTerm"), &soft[i].PodAffinityTerm))
	}
	return f.Errs
}

func podTerm(path *field.Path, t *corev1.PodAffinityTerm) field.ErrorList {
	var f validation.Findings
	f.Merge(validation.LabelSelector(path.Child("labelSelector"), t.LabelSelector), validation.LabelSelector(path.Child("namespaceSelector"), t.NamespaceSelector))
	for _, name := range t.Namespaces {
		f.Merge(validation.Follows(validation.Named(apivalidation.ValidateNamespaceName), path.Child("namespace"), name))
	}
	f.Merge(matchLabelKeys(path, t.MatchLabelKeys, t.MismatchLabelKeys, t.LabelSelector))
	f.AddIf(t.TopologyKey == "", field.Required(path.Child("topologyKey"), "can not be empty"))
	f.Merge(metav1validation.ValidateLabelName(t.TopologyKey, path.Child("topologyKey")))
	return f.Errs
}

// matchLabelKeys checks the fields matchLabelKeys and mismatchLabelKeys, which list keys of the pod's own labels. The
// selector of a stored pod also has a requirement for each of these keys that is a label of the pod (KEP-3633,
// KEP-3243). The server adds these requirements to new pods, but not to pod templates.
func matchLabelKeys(path *field.Path, match, mismatch []string, s *metav1.LabelSelector) field.ErrorList {
	var f validation.Findings
	f.Merge(labelKeys(path.Child("matchLabelKeys"), match, s), labelKeys(path.Child("mismatchLabelKeys"), mismatch, s))
	if s != nil {
		index := map[string]int{}
		for i, key := range match {
			index[key] = i
		}
		seen := sets.KeySet(s.MatchLabels)
		for _, expression := range s.MatchExpressions {
			if i, is := index[expression.Key]; is && seen.Has(expression.Key) {
				f.Add(field.Invalid(path.Index(i), expression.Key, "exists in both matchLabelKeys and labelSelector"))
			}
			seen.Insert(expression.Key)
		}
	}
	mismatched := sets.New(mismatch...)
	for i, key := range match {
		f.AddIf(mismatched.Has(key), field.Invalid(path.Child("matchLabelKeys").Index(i), key, "exists in both matchLabelKeys and mismatchLabelKeys"))
	}
	return f.Errs
}

func labelKeys(path *field.Path, keys []string, s *metav1.LabelSelector) field.ErrorList {
	var f validation.Findings
	if len(keys) > 0 && s == nil {
		return field.ErrorList{field.Forbidden(path, "must not be specified when labelSelector is not set")}
	}
	for i, key := range keys {
		f.Merge(metav1validation.ValidateLabelName(key, path.Index(i)))
	}
	return f.Errs
}

func topologySpread(path *field.Path, constraints []corev1.TopologySpreadConstraint) field.ErrorList {
	var f validation.Findings
	for i := range constraints {
		c, path := &constraints[i], path.Index(i)
		f.Merge(positive(path.Child("maxSkew"), c.MaxSkew))
		f.AddIf(c.TopologyKey == "", field.Required(path.Child("topologyKey"), "can not be empty"))
		f.Merge(validation.OneOf(path.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway))
		for _, other := range constraints[i+1:] {
			if c.TopologyKey == other.TopologyKey && c.WhenUnsatisfiable == other.WhenUnsatisfiable {
				f.Add(field.Duplicate(path.Child("{topologyKey, whenUnsatisfiable}"), fmt.Sprintf("{%v, %v}", c.TopologyKey, c.WhenUnsatisfiable)))
				break
			}
		}
		if n := c.MinDomains; n != nil {
			f.Merge(positive(path.Child("minDomains"), *n))
			f.AddIf(c.WhenUnsatisfiable != corev1.DoNotSchedule, field.Invalid(path.Child("minDomains"), n,
				fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s", corev1.DoNotSchedule, c.WhenUnsatisfiable)))
		}
		f.Merge(
			validation.OptionalOneOf(path.Child("nodeAffinityPolicy"), c.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore),
			validation.OptionalOneOf(path.Child("nodeTaintsPolicy"), c.NodeTaintsPolicy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore),
			matchLabelKeys(path, c.MatchLabelKeys, nil, c.LabelSelector),
			validation.LabelSelector(path.Child("labelSelector"), c.LabelSelector))
	}
	return f.Errs
}

func positive(path *field.Path, n int32) field.ErrorList {
	if n > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, n, "must be greater than zero")}
}

// TaintEffects are the valid effects of taints, and so of tolerations.
var TaintEffects = []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}

// Tolerations checks the tolerations of a pod or of a runtime class.
func Tolerations(path *field.Path, ts []corev1.Toleration) field.ErrorList {
	var f validation.Findings
	for i, t := range ts {
		path := path.Index(i)
		operator := path.Child("operator")
		if t.Key != "" {
			f.Merge(metav1validation.ValidateLabelName(t.Key, path.Child("key")))
		}
		f.AddIf(t.Key == "" && t.Operator != corev1.TolerationOpExists, field.Invalid(operator, t.Operator,
			"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
		f.AddIf(t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute, field.Invalid(path.Child("effect"), t.Effect,
			"effect must be 'NoExecute' when `tolerationSeconds` is set"))
		switch t.Operator {
		case corev1.TolerationOpEqual, "":
			f.Merge(validation.Follows(validation.Joined(utilvalidation.IsValidLabelValue, ";"), operator, t.Value))
		case corev1.TolerationOpExists:
			f.AddIf(t.Value != "", field.Invalid(operator, t.Value, "value must be empty when `operator` is 'Exists'"))
		case corev1.TolerationOpLt, corev1.TolerationOpGt:
			// These operators need the feature gate TaintTolerationComparisonOperators, which is off.
			f.Add(field.NotSupported(operator, t.Operator, []corev1.TolerationOperator{
				corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt}))
		default:
			f.Add(field.NotSupported(operator, t.Operator, []corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists}))
		}
		if t.Effect != "" {
			f.Merge(validation.OneOf(path.Child("effect"), t.Effect, TaintEffects...))
		}
	}
	return f.Errs
}

// schedulingGates checks the gates that delay the scheduling of a pod (KEP-3521).
func schedulingGates(path *field.Path, gates []corev1.PodSchedulingGate) field.ErrorList {
	var f validation.Findings
	seen := sets.New[string]()
	for i, gate := range gates {
		f.Merge(validation.Qualified(path.Index(i), gate.Name))
		f.AddIf(seen.Has(gate.Name), field.Duplicate(path.Index(i), gate.Name))
		seen.Insert(gate.Name)
	}
	return f.Errs
}

// IsMirror reports whether a pod is a mirror pod. A kubelet makes a mirror pod for each static pod.
func IsMirror(meta *metav1.ObjectMeta) bool {
	_, is := meta.Annotations[corev1.MirrorPodAnnotationKey]
	return is
}

// NodeAffinity returns the node affinity of a pod, or nil.
func NodeAffinity(spec *corev1.PodSpec) *corev1.NodeAffinity {
	return ptr.Deref(spec.Affinity, corev1.Affinity{}).NodeAffinity
}
