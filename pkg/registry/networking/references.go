package networking

import (
	"k8s.io/apimachinery/pkg/api/validate/content"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

func localReference(path *field.Path, group *string, kind, name string) field.ErrorList {
	var f validation.Findings
	if group != nil {
		f.Merge(validation.Follows(utilvalidation.IsDNS1123Subdomain, path.Child("apiGroup"), *group))
	}
	f.Merge(validation.Required(content.IsPathSegmentName, path.Child("kind"), kind),
		validation.Required(content.IsPathSegmentName, path.Child("name"), name))
	return f.Errs
}
