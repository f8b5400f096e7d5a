package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// serviceAccountKind is the row of serviceaccounts in the server's table of kinds.
var serviceAccountKind = registry.Kind{
	Resource:   "serviceaccounts",
	ShortNames: []string{"sa"},
	Namespaced: true,
	Object:     &corev1.ServiceAccount{}, List: &corev1.ServiceAccountList{},
	Defaults:      []registry.Default{registry.DefaultOf(defaultTokenRequest)},
	ReturnDeleted: true,
	Subresources:  []registry.Subresource{{Name: "token", Storage: newToken}},
	Printer:       &serviceAccountColumns,
	Hooks: registry.HooksOf[*corev1.ServiceAccount]{
		PrepareForCreate: func(_ context.Context, a *corev1.ServiceAccount) { nameSecretsOnly(a) },
		PrepareForUpdate: func(_ context.Context, a, _ *corev1.ServiceAccount) { nameSecretsOnly(a) },
		Validate:         validateServiceAccount,
		ValidateUpdate:   validateServiceAccountUpdate,
		Warnings:         serviceAccountWarnings,
	},
}

// validateServiceAccount checks a new service account.
func validateServiceAccount(o *corev1.ServiceAccount) field.ErrorList {
	return validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.ValidateServiceAccountName).Errs
}

func validateServiceAccountUpdate(o, old *corev1.ServiceAccount) field.ErrorList {
	return append(validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs, validateServiceAccount(o)...)
}

// nameSecretsOnly drops everything but the names from the secrets of a service account.
func nameSecretsOnly(a *corev1.ServiceAccount) {
	for i, ref := range a.Secrets {
		a.Secrets[i] = corev1.ObjectReference{Name: ref.Name}
	}
}

// serviceAccountColumns makes the rows of kubectl get. They don't show the number of secrets, because since Kubernetes
// 1.24 the tokens of a service account aren't Secrets.
var serviceAccountColumns = printers.NameAndAge[corev1.ServiceAccount]()

// enforceMountableSecrets is a deprecated annotation of service accounts.
const enforceMountableSecrets = "kubernetes.io/enforce-mountable-secrets"

func serviceAccountWarnings(_ context.Context, s, old *corev1.ServiceAccount) []string {
	if _, annotated := s.Annotations[enforceMountableSecrets]; !annotated {
		return nil
	}
	if old != nil {
		if _, annotated := old.Annotations[enforceMountableSecrets]; annotated {
			return nil
		}
	}
	var l warnings.List
	l.At(field.NewPath("metadata", "annotations").Key(enforceMountableSecrets),
		"deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets")
	return l
}
