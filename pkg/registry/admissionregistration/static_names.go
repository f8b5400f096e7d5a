package admissionregistration

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission/plugin/manifest"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// configuration is the Go type of a webhook configuration, a policy or a binding.
type configuration interface {
	comparable
	runtime.Object
	metav1.Object
}

// withoutStaticNames adds a check to the hooks of a webhook configuration, a policy or a binding: a new object must
// not have a name with the suffix that is reserved for static manifests (KEP-5793). So a name shows whether its
// object comes from the API or from a file. On a server without static manifests, the check only warns.
func withoutStaticNames[T configuration](hooks registry.HooksOf[T]) registry.HooksOf[T] {
	checked := func(validate func(T) field.ErrorList) func(T) field.ErrorList {
		return func(obj T) field.ErrorList { return append(validate(obj), staticName(obj)...) }
	}
	through := map[schema.GroupVersion]registry.Validation[T]{}
	for gv, validation := range hooks.Through {
		validation.Create = checked(validation.Create)
		through[gv] = validation
	}
	hooks.Through, hooks.Validate = through, checked(hooks.Validate)
	hooks.Warnings = func(_ context.Context, obj, old T) []string {
		var none T
		return staticNameWarnings(obj.GetName(), old == none, staticManifests())
	}
	return hooks
}

const reservedName = `names ending with "` + manifest.StaticConfigSuffix + `" are reserved for static manifest-based configurations and cannot be managed via the API`

// staticNameWarnings warns of names with the suffix that is reserved for static manifests. It doesn't warn on create if
// the feature gate for static manifests is on, because the server then refuses the object.
func staticNameWarnings(name string, created, manifests bool) []string {
	if !strings.HasSuffix(name, manifest.StaticConfigSuffix) || manifests && created {
		return nil
	}
	return []string{"metadata.name: " + reservedName}
}

func staticManifests() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.ManifestBasedAdmissionControlConfig)
}

func staticName(obj metav1.Object) field.ErrorList {
	if !strings.HasSuffix(obj.GetName(), manifest.StaticConfigSuffix) || !staticManifests() {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), obj.GetName(), reservedName)}
}
