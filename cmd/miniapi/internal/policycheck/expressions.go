package policycheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// expression is a CEL expression of an object, with its path.
type expression struct{ field, text string }

// expressionKeys are the keys of expressions in policies and webhook configurations.
var expressionKeys = []string{"expression", "messageExpression", "valueExpression"}

// expressionsOf returns the expressions of a value of an object in the order of their paths.
func expressionsOf(value any, field string) []expression {
	var all []expression
	switch value := value.(type) {
	case []any:
		for i, element := range value {
			all = append(all, expressionsOf(element, fmt.Sprintf("%s[%d]", field, i))...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			at := key
			if field != "" {
				at = field + "." + key
			}
			if text, isText := value[key].(string); isText && slices.Contains(expressionKeys, key) {
				all = append(all, expression{at, text})
				continue
			}
			all = append(all, expressionsOf(value[key], at)...)
		}
	}
	return all
}

// typed compares the expressions of a policy with the types of the objects that it matches, as kube-controller-manager does
// with validations. The argument policy has the fields that both kinds of policies share. Mutations aren't compared, because
// their types are known only for an object.
func (c *checker) typed(i int, policy *admissionregistrationv1.ValidatingAdmissionPolicy) {
	if c.isRefused(i) {
		return
	}
	types := c.types.CreateContext(policy)
	for _, e := range expressionsOf(c.objects[i].Object, "") {
		if strings.HasPrefix(e.field, "spec.mutations") {
			continue
		}
		if misfits := c.types.CheckExpression(types, e.text); len(misfits) > 0 {
			c.add(i, e.field, "%s", strings.ReplaceAll(misfits.String(), "\n\n", "\n"))
		}
	}
}
