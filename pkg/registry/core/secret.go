package core

import (
	"context"
	"crypto/tls"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/fields"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// secretKind is the row of secrets in the server's table of kinds.
var secretKind = registry.Kind{
	Resource:   "secrets",
	Namespaced: true,
	Object:     &corev1.Secret{}, List: &corev1.SecretList{},
	Defaults: []registry.Default{registry.DefaultOf(defaultSecret)},
	Printer:  &secretColumns,
	Hooks: registry.HooksOf[*corev1.Secret]{
		Validate:       validateSecret,
		ValidateUpdate: validateSecretUpdate,
		Warnings:       secretWarnings,
	},
	Fields: secretFields,
}

// defaultSecret sets the defaults of a Secret. It moves stringData to data, because stringData is never stored. If
// both have the same key, the value in stringData counts.
func defaultSecret(s *corev1.Secret) {
	defaults.Zero(&s.Type, corev1.SecretTypeOpaque)
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = make(map[string][]byte, len(s.StringData))
	}
	for key, value := range s.StringData {
		s.Data[key] = []byte(value)
	}
	s.StringData = nil
}

// validateSecret checks a new Secret. Its data must have the keys that its type requires.
func validateSecret(o *corev1.Secret) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	data := field.NewPath("data")
	size := 0
	for key, value := range validation.Sorted(o.Data) {
		f.Merge(validation.Follows(utilvalidation.IsConfigMapKey, data.Key(key), key))
		size += len(value)
	}
	f.AddIf(size > corev1.MaxSecretSize, field.TooLong(data, "", corev1.MaxSecretSize))

	has := func(key string) bool { _, ok := o.Data[key]; return ok }
	need := func(keys ...string) {
		for _, key := range keys {
			f.AddIf(!has(key), field.Required(data.Key(key), ""))
		}
	}
	wellFormed := func(key string) {
		need(key)
		if !has(key) {
			return
		}
		if err := json.Unmarshal(o.Data[key], &map[string]any{}); err != nil {
			f.Add(field.Invalid(data.Key(key), "<secret contents redacted>", err.Error()))
		}
	}
	switch o.Type {
	case corev1.SecretTypeServiceAccountToken:
		f.AddIf(o.Annotations[corev1.ServiceAccountNameKey] == "",
			field.Required(validation.MetadataPath.Child("annotations").Key(corev1.ServiceAccountNameKey), ""))
	case corev1.SecretTypeDockercfg:
		wellFormed(corev1.DockerConfigKey)
	case corev1.SecretTypeDockerConfigJson:
		wellFormed(corev1.DockerConfigJsonKey)
	case corev1.SecretTypeBasicAuth:
		if !has(corev1.BasicAuthUsernameKey) && !has(corev1.BasicAuthPasswordKey) {
			need(corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
		}
	case corev1.SecretTypeSSHAuth:
		f.AddIf(len(o.Data[corev1.SSHAuthPrivateKey]) == 0, field.Required(data.Key(corev1.SSHAuthPrivateKey), ""))
	case corev1.SecretTypeTLS:
		need(corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	}
	return f.Errs
}

func validateSecretUpdate(o, old *corev1.Secret) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(validation.Unchanged(field.NewPath("type"), o.Type, old.Type),
		checkImmutable(o.Immutable, old.Immutable, immutableField{"data", o.Data, old.Data}), validateSecret(o))
	return f.Errs
}

var secretColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Type", printers.Doc(corev1.Secret{}, "type")),
		printers.Text("Data", printers.Doc(corev1.Secret{}, "data")),
		printers.AgeColumn,
	},
	func(s *corev1.Secret) []any {
		return []any{s.Name, string(s.Type), int64(len(s.Data)), printers.Since(s.CreationTimestamp)}
	})

// secretWarnings returns the warnings about invalid TLS certificates and keys in a Secret.
func secretWarnings(_ context.Context, s, _ *corev1.Secret) []string {
	if s.Type != corev1.SecretTypeTLS {
		return nil
	}
	if _, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey]); err != nil {
		return []string{err.Error()}
	}
	return nil
}

var secretFields = registry.FieldsOf[*corev1.Secret]{
	Values: func(s *corev1.Secret) fields.Set { return fields.Set{"type": string(s.Type)} },
	Names:  []string{"type"},
}
