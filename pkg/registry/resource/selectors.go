package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/environment"
	devicecel "k8s.io/dynamic-resource-allocation/cel"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// deviceFeatures are the optional features of the CEL expressions that select devices. Kubernetes turns them on by
// default.
var deviceFeatures = devicecel.Features{EnableConsumableCapacity: true}

// deviceSelectors checks the selectors of a DeviceClass or a request. It compiles their CEL expressions as the
// scheduler does (KEP-4381). Stored expressions may use features of a newer server.
func deviceSelectors(path *field.Path, selectors []resourcev1.DeviceSelector, stored bool) field.ErrorList {
	var f validation.Findings
	for i, s := range validation.Within(selectors, resourcev1.DeviceSelectorsMaxSize) {
		path := path.Index(i).Child("cel")
		if s.CEL == nil {
			f.Add(field.Required(path, ""))
			continue
		}
		f.Merge(deviceExpression(path.Child("expression"), s.CEL.Expression, stored))
	}
	return f.Errs
}

func deviceExpression(path *field.Path, text string, stored bool) field.ErrorList {
	if len(text) > resourcev1.CELSelectorExpressionMaxLength {
		return field.ErrorList{field.TooLong(path, "", resourcev1.CELSelectorExpressionMaxLength)}
	}
	env := environment.NewExpressions
	if stored {
		env = environment.StoredExpressions
	}
	compiled := devicecel.GetCompiler(deviceFeatures).CompileCELExpression(text, devicecel.Options{EnvType: &env})
	if compiled.Error != nil {
		return validation.Expression{Written: text}.Failure(compiled.Error, path)
	}
	if compiled.MaxCost > resourcev1.CELSelectorExpressionMaxCost {
		return field.ErrorList{field.Forbidden(path, "too complex, exceeds cost limit")}
	}
	return nil
}
