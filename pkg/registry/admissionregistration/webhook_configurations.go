package admissionregistration

import (
	"reflect"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// configurationHooks returns the value of registry.Kind.Hooks for one of the two kinds of webhook configurations.
// webhooksOf returns the webhooks of an object as mutating webhooks, which have all the fields of validating webhooks.
func configurationHooks[T configuration](webhooksOf func(T) []admissionregistrationv1.MutatingWebhook) registry.Hooks {
	v1 := configurationValidation(webhookRulesV1, webhooksOf)
	return withoutStaticNames(registry.HooksOf[T]{
		Validate:       v1.Create,
		ValidateUpdate: v1.Update,
		Through: map[schema.GroupVersion]registry.Validation[T]{
			admissionregistrationv1beta1.SchemeGroupVersion: configurationValidation(webhookRulesV1beta1, webhooksOf),
		},
		// As in kube-apiserver, an empty list is a change of an absent one.
		SpecChanged:      func(o, old T) bool { return !reflect.DeepEqual(webhooksOf(o), webhooksOf(old)) },
		WarningsOfOthers: func(deps registry.Dependencies, o T) []string { return webhooksWarnings(deps, webhooksOf(o)) },
	})
}

// configurationValidation returns the validation of webhook configurations by the rules of one API version.
func configurationValidation[T configuration](rules webhookRules, webhooksOf func(T) []admissionregistrationv1.MutatingWebhook) registry.Validation[T] {
	return registry.Validation[T]{
		Create: func(o T) field.ErrorList { return webhooks(o, webhooksOf(o), rules) },
		Update: func(o, old T) field.ErrorList {
			hooks := webhooksOf(o)
			return webhooks(o, hooks, rules.onUpdate(hooks, webhooksOf(old)))
		},
	}
}

var configurationColumns = []printers.Column{
	printers.NameColumn,
	printers.Number("Webhooks", "Webhooks indicates the number of webhooks registered in this configuration"),
	printers.AgeColumn,
}

func configurationCells(meta *metav1.ObjectMeta, webhooks int) []any {
	return []any{meta.Name, int64(webhooks), printers.Since(meta.CreationTimestamp)}
}
