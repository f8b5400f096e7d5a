package policycheck

import (
	"fmt"
	"regexp"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// since are APIs and fields with the version of Kubernetes that has them by default, and the KEP with the history of
// their stages. A field is the path without indices.
var since = []struct {
	kind, apiVersion, field string
	minor                   uint
	kep                     int
}{
	{trace.ValidatingPolicy, "admissionregistration.k8s.io/v1", "", 30, 3488},
	{trace.ValidatingPolicy + "Binding", "admissionregistration.k8s.io/v1", "", 30, 3488},
	{trace.MutatingPolicy, "admissionregistration.k8s.io/v1", "", 36, 3962},
	{trace.MutatingPolicy + "Binding", "admissionregistration.k8s.io/v1", "", 36, 3962},
	{trace.ValidatingConfiguration, "", "webhooks.matchConditions", 28, 3716},
	{trace.MutatingConfiguration, "", "webhooks.matchConditions", 28, 3716},
	{manifests.DefinitionKind.Kind, "", "spec.versions.selectableFields", 31, 4358},
}

var indices = regexp.MustCompile(`\[\d+\]`)

// older adds what is known of a version of Kubernetes that the server can't emulate: fields that it doesn't have by
// default, and expressions with functions that it doesn't have.
func (c *checker) older(i int, of *version.Version) {
	object := c.objects[i]
	fields := fieldsOf(object.Object, "")
	for _, known := range since {
		if object.GetKind() != known.kind || known.apiVersion != "" && object.GetAPIVersion() != known.apiVersion || of.AtLeast(version.MajorMinor(1, known.minor)) {
			continue
		}
		if known.field == "" {
			c.addAs(Error, i, "apiVersion", fmt.Sprintf("Kubernetes %s doesn't serve %s in %s: it does since 1.%d (KEP-%d)", of, known.kind, known.apiVersion, known.minor, known.kep))
			continue
		}
		for _, field := range fields {
			if indices.ReplaceAllString(field, "") == known.field {
				c.addAs(Error, i, field, fmt.Sprintf("Kubernetes %s doesn't have the field by default: it does since 1.%d (KEP-%d)", of, known.minor, known.kep))
			}
		}
	}
	if manifests.IsDefinition(object.GroupVersionKind()) {
		return // the rules of schemas need the types of the schemas
	}
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(of))
	if err != nil {
		return
	}
	declared := cel.OptionalVariableDeclarations{HasParams: true, HasAuthorizer: true, HasPatchTypes: object.GetKind() == trace.MutatingPolicy}
	spec, _ := object.Object["spec"].(map[string]any)
	variables, _ := spec["variables"].([]any)
	for _, v := range variables {
		fields, _ := v.(map[string]any)
		name, _ := fields["name"].(string)
		text, _ := fields["expression"].(string)
		compiler.CompileAndStoreVariable(variable{accessor(text), name}, declared, environment.NewExpressions)
	}
	for _, e := range expressionsOf(object.Object, "") {
		if result := compiler.CompileCELExpression(accessor(e.text), declared, environment.NewExpressions); result.Error != nil {
			reason, _, _ := strings.Cut(result.Error.Detail, "\n")
			c.addAs(Error, i, e.field, fmt.Sprintf("Kubernetes %s can't compile the expression: %s", of, strings.TrimSpace(reason)))
		}
	}
}

// fieldsOf returns the paths of all fields of a value.
func fieldsOf(value any, field string) []string {
	var all []string
	switch value := value.(type) {
	case []any:
		for i, element := range value {
			all = append(all, fieldsOf(element, fmt.Sprintf("%s[%d]", field, i))...)
		}
	case map[string]any:
		for key, element := range value {
			at := strings.TrimPrefix(field+"."+key, ".")
			all = append(append(all, at), fieldsOf(element, at)...)
		}
	}
	return all
}

// accessor is an expression of any type.
type accessor string

// GetExpression implements cel.ExpressionAccessor.
func (a accessor) GetExpression() string { return string(a) }

// ReturnTypes implements cel.ExpressionAccessor.
func (accessor) ReturnTypes() []*celgo.Type { return []*celgo.Type{celgo.AnyType} }

// variable is an expression with a name.
type variable struct {
	accessor
	name string
}

// GetName implements cel.NamedExpressionAccessor.
func (v variable) GetName() string { return v.name }
