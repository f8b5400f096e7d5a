package validation

import (
	"encoding/json"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// ConfigMap checks a new ConfigMap.
func ConfigMap(o *corev1.ConfigMap) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	size := 0
	for key, value := range Sorted(o.Data) {
		path := field.NewPath("data").Key(key)
		f.Merge(Follows(utilvalidation.IsConfigMapKey, path, key))
		_, twice := o.BinaryData[key]
		f.AddIf(twice, field.Invalid(path, key, "duplicate of key present in binaryData"))
		size += len(value)
	}
	for key, value := range Sorted(o.BinaryData) {
		f.Merge(Follows(utilvalidation.IsConfigMapKey, field.NewPath("binaryData").Key(key), key))
		size += len(value)
	}
	// The whole object is too long, so the path is empty.
	f.AddIf(size > corev1.MaxSecretSize, field.TooLong(field.NewPath(""), "", corev1.MaxSecretSize))
	return f.Errs
}

// ConfigMapUpdate checks a ConfigMap that replaces another.
func ConfigMapUpdate(o, old *corev1.ConfigMap) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(sealed(o.Immutable, old.Immutable,
		sealedField{"data", o.Data, old.Data}, sealedField{"binaryData", o.BinaryData, old.BinaryData}), ConfigMap(o))
	return f.Errs
}

// Secret checks a new Secret, and that it holds what its type promises.
func Secret(o *corev1.Secret) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	data := field.NewPath("data")
	size := 0
	for key, value := range Sorted(o.Data) {
		f.Merge(Follows(utilvalidation.IsConfigMapKey, data.Key(key), key))
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
			field.Required(MetadataPath.Child("annotations").Key(corev1.ServiceAccountNameKey), ""))
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

// SecretUpdate checks a Secret that replaces another.
func SecretUpdate(o, old *corev1.Secret) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(Unchanged(field.NewPath("type"), o.Type, old.Type),
		sealed(o.Immutable, old.Immutable, sealedField{"data", o.Data, old.Data}), Secret(o))
	return f.Errs
}

type sealedField struct {
	field    string
	now, was any
}

// sealed checks that nothing changes once the field immutable was true (KEP-1412).
func sealed(now, was *bool, contents ...sealedField) field.ErrorList {
	if !ptr.Deref(was, false) {
		return nil
	}
	const msg = "field is immutable when `immutable` is set"
	var f Findings
	f.AddIf(!ptr.Deref(now, false), field.Forbidden(field.NewPath("immutable"), msg))
	for _, c := range contents {
		f.AddIf(!reflect.DeepEqual(c.now, c.was), field.Forbidden(field.NewPath(c.field), msg))
	}
	return f.Errs
}
