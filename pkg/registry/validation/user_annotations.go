package validation

import (
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// UserAnnotations checks what a pod tells its signer: annotations whose keys all have a
// domain.
func UserAnnotations(path *field.Path, annotations map[string]string) field.ErrorList {
	var f Findings
	for key := range Sorted(annotations) {
		f.Merge(utilvalidation.IsDomainPrefixedKey(path, strings.ToLower(key)))
	}
	f.AddIf(apivalidation.ValidateAnnotationsSize(annotations) != nil, field.TooLong(path, "", apivalidation.TotalAnnotationSizeLimitB))
	return f.Errs
}
