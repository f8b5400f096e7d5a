package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	requiredTerms  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferredTerms = "preferredDuringSchedulingIgnoredDuringExecution"
)

func affinity(path *field.Path, a *corev1.Affinity) field.ErrorList {
	if a == nil {
		return nil
	}
	var f findings
	if n := a.NodeAffinity; n != nil {
		path := path.Child("nodeAffinity")
		if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			f.merge(nodeSelector(path.Child(requiredTerms), n.RequiredDuringSchedulingIgnoredDuringExecution))
		}
		for i, term := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			path := path.Child(preferredTerms).Index(i)
			// A preference for a label that no node can have does no harm.
			f.merge(weight(path, term.Weight), nodeSelectorTerm(path.Child("preference"), &term.Preference, false))
		}
	}
	if p := a.PodAffinity; p != nil {
		f.merge(podTerms(path.Child("podAffinity"), p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution))
	}
	if p := a.PodAntiAffinity; p != nil {
		f.merge(podTerms(path.Child("podAntiAffinity"), p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution))
	}
	return f.errs
}

func weight(path *field.Path, w int32) field.ErrorList {
	if 1 <= w && w <= 100 {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("weight"), w, "must be in the range 1-100")}
}

// nodeSelector checks what a node has to be.
func nodeSelector(path *field.Path, s *corev1.NodeSelector) field.ErrorList {
	terms := path.Child("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		return field.ErrorList{field.Required(terms, "must have at least one node selector term")}
	}
	var f findings
	for i := range s.NodeSelectorTerms {
		f.merge(nodeSelectorTerm(terms.Index(i), &s.NodeSelectorTerms[i], true))
	}
	return f.errs
}

// nodeSelectorTerm checks a term, and where values says so, that its values can be
// those of a label.
func nodeSelectorTerm(path *field.Path, t *corev1.NodeSelectorTerm, values bool) field.ErrorList {
	var f findings
	for i := range t.MatchExpressions {
		f.merge(nodeLabelRequirement(path.Child("matchExpressions").Index(i), &t.MatchExpressions[i], values))
	}
	for i := range t.MatchFields {
		f.merge(nodeFieldRequirement(path.Child("matchFields").Index(i), &t.MatchFields[i]))
	}
	return f.errs
}

const notAnOperator = "not a valid selector operator"

func nodeLabelRequirement(path *field.Path, r *corev1.NodeSelectorRequirement, values bool) field.ErrorList {
	var f findings
	at := path.Child("values")
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		f.addIf(len(r.Values) == 0, field.Required(at, "must be specified when `operator` is 'In' or 'NotIn'"))
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		f.addIf(len(r.Values) > 0, field.Forbidden(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		f.addIf(len(r.Values) != 1, field.Required(at, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
	default:
		f.add(field.Invalid(path.Child("operator"), r.Operator, notAnOperator))
	}
	f.merge(metav1validation.ValidateLabelName(r.Key, path.Child("key")))
	if values {
		for i, v := range r.Values {
			f.merge(follows(utilvalidation.IsValidLabelValue, at.Index(i), v))
		}
	}
	return f.errs
}

func nodeFieldRequirement(path *field.Path, r *corev1.NodeSelectorRequirement) field.ErrorList {
	var f findings
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		f.addIf(len(r.Values) != 1, field.Required(path.Child("values"),
			"must be only one value when `operator` is 'In' or 'NotIn' for node field selector"))
	default:
		f.add(field.Invalid(path.Child("operator"), r.Operator, notAnOperator))
	}
	if r.Key != metav1.ObjectNameField {
		f.add(field.Invalid(path.Child("key"), r.Key, "not a valid field selector key"))
		return f.errs
	}
	for i, v := range r.Values {
		f.merge(follows(objectName, path.Child("values").Index(i), v))
	}
	return f.errs
}

func podTerms(path *field.Path, hard []corev1.PodAffinityTerm, soft []corev1.WeightedPodAffinityTerm) field.ErrorList {
	var f findings
	for i := range hard {
		f.merge(podTerm(path.Child(requiredTerms).Index(i), &hard[i]))
	}
	for i := range soft {
		path := path.Child(preferredTerms).Index(i)
		f.merge(weight(path, soft[i].Weight), podTerm(path.Child("podAffinityTerm"), &soft[i].PodAffinityTerm))
	}
	return f.errs
}

func podTerm(path *field.Path, t *corev1.PodAffinityTerm) field.ErrorList {
	var f findings
	f.merge(labelSelector(path.Child("labelSelector"), t.LabelSelector), labelSelector(path.Child("namespaceSelector"), t.NamespaceSelector))
	for _, name := range t.Namespaces {
		f.merge(follows(named(apivalidation.ValidateNamespaceName), path.Child("namespace"), name))
	}
	f.merge(matchLabelKeys(path, t.MatchLabelKeys, t.MismatchLabelKeys, t.LabelSelector))
	f.addIf(t.TopologyKey == "", field.Required(path.Child("topologyKey"), "can not be empty"))
	f.merge(metav1validation.ValidateLabelName(t.TopologyKey, path.Child("topologyKey")))
	return f.errs
}

// matchLabelKeys checks the keys of labels whose values a pod's selector takes from the
// pod itself (KEP-3633, KEP-3243). By now they are in the selector, too.
func matchLabelKeys(path *field.Path, match, mismatch []string, s *metav1.LabelSelector) field.ErrorList {
	var f findings
	f.merge(labelKeys(path.Child("matchLabelKeys"), match, s), labelKeys(path.Child("mismatchLabelKeys"), mismatch, s))
	if s != nil {
		index := map[string]int{}
		for i, key := range match {
			index[key] = i
		}
		seen := sets.KeySet(s.MatchLabels)
		for _, expression := range s.MatchExpressions {
			if i, is := index[expression.Key]; is && seen.Has(expression.Key) {
				f.add(field.Invalid(path.Index(i), expression.Key, "exists in both matchLabelKeys and labelSelector"))
			}
			seen.Insert(expression.Key)
		}
	}
	mismatched := sets.New(mismatch...)
	for i, key := range match {
		f.addIf(mismatched.Has(key), field.Invalid(path.Child("matchLabelKeys").Index(i), key, "exists in both matchLabelKeys and mismatchLabelKeys"))
	}
	return f.errs
}

func labelKeys(path *field.Path, keys []string, s *metav1.LabelSelector) field.ErrorList {
	var f findings
	if len(keys) > 0 && s == nil {
		return field.ErrorList{field.Forbidden(path, "must not be specified when labelSelector is not set")}
	}
	for i, key := range keys {
		f.merge(metav1validation.ValidateLabelName(key, path.Index(i)))
	}
	return f.errs
}

func topologySpread(path *field.Path, constraints []corev1.TopologySpreadConstraint) field.ErrorList {
	var f findings
	for i := range constraints {
		c, path := &constraints[i], path.Index(i)
		f.merge(positive(path.Child("maxSkew"), c.MaxSkew))
		f.addIf(c.TopologyKey == "", field.Required(path.Child("topologyKey"), "can not be empty"))
		f.merge(oneOf(path.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway))
		for _, other := range constraints[i+1:] {
			if c.TopologyKey == other.TopologyKey && c.WhenUnsatisfiable == other.WhenUnsatisfiable {
				f.add(field.Duplicate(path.Child("{topologyKey, whenUnsatisfiable}"), fmt.Sprintf("{%v, %v}", c.TopologyKey, c.WhenUnsatisfiable)))
				break
			}
		}
		if n := c.MinDomains; n != nil {
			f.merge(positive(path.Child("minDomains"), *n))
			f.addIf(c.WhenUnsatisfiable != corev1.DoNotSchedule, field.Invalid(path.Child("minDomains"), n,
				fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s", corev1.DoNotSchedule, c.WhenUnsatisfiable)))
		}
		f.merge(
			optionalOneOf(path.Child("nodeAffinityPolicy"), c.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore),
			optionalOneOf(path.Child("nodeTaintsPolicy"), c.NodeTaintsPolicy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore),
			matchLabelKeys(path, c.MatchLabelKeys, nil, c.LabelSelector),
			labelSelector(path.Child("labelSelector"), c.LabelSelector))
	}
	return f.errs
}

func positive(path *field.Path, n int32) field.ErrorList {
	if n > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, n, "must be greater than zero")}
}

func tolerations(path *field.Path, ts []corev1.Toleration) field.ErrorList {
	var f findings
	for i, t := range ts {
		path := path.Index(i)
		operator := path.Child("operator")
		if t.Key != "" {
			f.merge(metav1validation.ValidateLabelName(t.Key, path.Child("key")))
		}
		f.addIf(t.Key == "" && t.Operator != corev1.TolerationOpExists, field.Invalid(operator, t.Operator,
			"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
		f.addIf(t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute, field.Invalid(path.Child("effect"), t.Effect,
			"effect must be 'NoExecute' when `tolerationSeconds` is set"))
		switch t.Operator {
		case corev1.TolerationOpEqual, "":
			f.merge(follows(joined(utilvalidation.IsValidLabelValue, ";"), operator, t.Value))
		case corev1.TolerationOpExists:
			f.addIf(t.Value != "", field.Invalid(operator, t.Value, "value must be empty when `operator` is 'Exists'"))
		case corev1.TolerationOpLt, corev1.TolerationOpGt:
			// They wait for the feature gate TaintTolerationComparisonOperators, which is off.
			f.add(field.NotSupported(operator, t.Operator, []corev1.TolerationOperator{
				corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt}))
		default:
			f.add(field.NotSupported(operator, t.Operator, []corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists}))
		}
		if t.Effect != "" {
			f.merge(taintEffect(path.Child("effect"), t.Effect))
		}
	}
	return f.errs
}

func taintEffect(path *field.Path, effect corev1.TaintEffect) field.ErrorList {
	return oneOf(path, effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
}

// schedulingGates checks what keeps the pod from being scheduled (KEP-3521).
func schedulingGates(path *field.Path, gates []corev1.PodSchedulingGate) field.ErrorList {
	var f findings
	seen := sets.New[string]()
	for i, gate := range gates {
		f.merge(qualified(path.Index(i), gate.Name))
		f.addIf(seen.Has(gate.Name), field.Duplicate(path.Index(i), gate.Name))
		seen.Insert(gate.Name)
	}
	return f.errs
}

// isMirror is whether the kubelet made the pod for a static one.
func isMirror(meta *metav1.ObjectMeta) bool {
	_, is := meta.Annotations[corev1.MirrorPodAnnotationKey]
	return is
}
