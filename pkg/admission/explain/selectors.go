package explain

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// namespaceSelector returns nil if the namespaceSelector matches, or else the verdict.
func (e *Explainer) namespaceSelector(m Matching) *trace.Verdict {
	field := m.Path + ".namespaceSelector"
	matches, err := e.Namespaces.MatchNamespaceSelector(m.Constraints, m.Attributes)
	if err != nil {
		return &trace.Verdict{Reason: trace.MatchFailed, Field: field, Detail: err.Error()}
	}
	if matches {
		return nil
	}
	// An error is unlikely: the selector has just been compared with these labels.
	have, _ := e.Namespaces.GetNamespaceLabels(m.Attributes)
	key, requirement := unmet(m.namespaces, have)
	return &trace.Verdict{
		Reason: trace.NamespaceSelector, Field: field + requirement.field, Want: requirement.text,
		Got: fmt.Sprintf("namespace %q %s", m.Attributes.GetNamespace(), labelOf(have, key)),
	}
}

// objectSelector returns nil if the objectSelector matches, or else the verdict.
func (e *Explainer) objectSelector(m Matching) *trace.Verdict {
	field := m.Path + ".objectSelector"
	matches, err := e.Objects.MatchObjectSelector(m.Constraints, m.Attributes)
	if err != nil {
		return &trace.Verdict{Reason: trace.MatchFailed, Field: field, Detail: err.Error()}
	}
	if matches {
		return nil
	}
	have, described := m.object()
	key, requirement := unmet(m.objects, have)
	verdict := &trace.Verdict{Reason: trace.ObjectSelector, Field: field + requirement.field, Want: requirement.text, Got: described(key)}
	if by := m.changedBy(); by != "" {
		verdict.Reason, verdict.By = trace.ObjectSelectorChanged, by
	}
	return verdict
}

// object returns the labels of the request's object, or else of its old object, and a function that describes one label
// of the request's objects in words.
func (m Matching) object() (map[string]string, func(key string) string) {
	object, old := labelsOf(m.Attributes.GetObject()), labelsOf(m.Attributes.GetOldObject())
	switch {
	case object != nil && old != nil:
		return *object, func(key string) string {
			if described := labelOf(*old, key); described != labelOf(*object, key) {
				return "the object " + labelOf(*object, key) + " and the old object " + described
			}
			return "the object, before and after, " + labelOf(*object, key)
		}
	case object != nil:
		return *object, func(key string) string { return "the object " + labelOf(*object, key) }
	case old != nil:
		return *old, func(key string) string { return "the object " + labelOf(*old, key) }
	}
	return nil, func(string) string { return "the request has no object with labels" }
}

// changedBy returns the part of the chain that changed the object so that it no longer matches the objectSelector. It
// returns "" if the object never matched, or if Earlier is nil.
func (m Matching) changedBy() string {
	selector, err := m.GetParsedObjectSelector()
	if err != nil || m.Earlier == nil {
		return ""
	}
	by, matched := "", false
	for _, object := range m.Earlier() {
		if len(object.Content) == 0 {
			continue
		}
		matches := selector.Matches(labels.Set(trace.Labels(object.Content)))
		if matched && !matches {
			by = object.By
		}
		matched = matches
	}
	return by
}

// labelsOf returns the labels of an object. It returns nil if the object has no metadata.
func labelsOf(object runtime.Object) *map[string]string {
	if object == nil {
		return nil
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil
	}
	found := accessor.GetLabels()
	return &found
}

// requirement is one requirement of a label selector.
type requirement struct {
	// field is the path of the requirement in the selector. text is the requirement in kubectl's syntax, such as "a=b".
	field string
	text  string
}

// unmet returns the first requirement of the selector that the labels don't meet, and the key of its label.
func unmet(selector *metav1.LabelSelector, have map[string]string) (key string, _ requirement) {
	if selector == nil {
		return "", requirement{}
	}
	fails := func(part metav1.LabelSelector) (string, bool) {
		parsed, err := metav1.LabelSelectorAsSelector(&part)
		return metav1.FormatLabelSelector(&part), err == nil && !parsed.Matches(labels.Set(have))
	}
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		if text, failed := fails(metav1.LabelSelector{MatchLabels: map[string]string{key: selector.MatchLabels[key]}}); failed {
			return key, requirement{fmt.Sprintf(".matchLabels[%q]", key), text}
		}
	}
	for i, expression := range selector.MatchExpressions {
		if text, failed := fails(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{expression}}); failed {
			return expression.Key, requirement{fmt.Sprintf(".matchExpressions[%d]", i), text}
		}
	}
	return "", requirement{"", metav1.FormatLabelSelector(selector)}
}

// labelOf describes in words whether the labels have a key, and which value.
func labelOf(have map[string]string, key string) string {
	if value, ok := have[key]; ok {
		return fmt.Sprintf("has %s=%s", key, value)
	}
	return "has no label " + key
}
