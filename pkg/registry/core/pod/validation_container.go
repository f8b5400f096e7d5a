package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

func trimmedImages(path *field.Path, containers []corev1.Container) field.ErrorList {
	var f validation.Findings
	for i := range containers {
		f.Merge(podvalidation.TrimmedImage(path.Index(i), &containers[i]))
	}
	return f.Errs
}
