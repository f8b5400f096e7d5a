package v1alpha1

import (
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
)

// ToV1Beta2 converts an ExtensionConfig to v1beta2. The result shares memory with in.
func ToV1Beta2(in *ExtensionConfig) *v1beta2.ExtensionConfig {
	out := &v1beta2.ExtensionConfig{ObjectMeta: in.ObjectMeta}
	out.APIVersion, out.Kind = v1beta2.GroupVersion().String(), "ExtensionConfig"
	out.Spec = v1beta2.ExtensionConfigSpec{
		ClientConfig:      v1beta2.ClientConfig{URL: ptr.Deref(in.Spec.ClientConfig.URL, ""), CABundle: in.Spec.ClientConfig.CABundle},
		NamespaceSelector: in.Spec.NamespaceSelector,
		Settings:          in.Spec.Settings,
	}
	if s := in.Spec.ClientConfig.Service; s != nil {
		out.Spec.ClientConfig.Service = v1beta2.ServiceReference{Namespace: s.Namespace, Name: s.Name, Path: ptr.Deref(s.Path, ""), Port: s.Port}
	}
	for _, h := range in.Status.Handlers {
		out.Status.Handlers = append(out.Status.Handlers, v1beta2.ExtensionHandler{
			Name: h.Name, RequestHook: h.RequestHook,
			TimeoutSeconds: ptr.Deref(h.TimeoutSeconds, 0), FailurePolicy: ptr.Deref(h.FailurePolicy, ""),
		})
	}
	if in.Status.V1Beta2 != nil {
		out.Status.Conditions = in.Status.V1Beta2.Conditions
	}
	if in.Status.Conditions != nil {
		out.Status.Deprecated = &v1beta2.ExtensionConfigDeprecatedStatus{
			V1Beta1: &v1beta2.ExtensionConfigV1Beta1DeprecatedStatus{Conditions: in.Status.Conditions},
		}
	}
	return out
}

// FromV1Beta2 converts an ExtensionConfig from v1beta2. The result shares memory with in.
func FromV1Beta2(in *v1beta2.ExtensionConfig) *ExtensionConfig {
	out := &ExtensionConfig{ObjectMeta: in.ObjectMeta}
	out.APIVersion, out.Kind = GroupVersion().String(), "ExtensionConfig"
	out.Spec = ExtensionConfigSpec{
		ClientConfig:      ClientConfig{URL: unlessZero(in.Spec.ClientConfig.URL), CABundle: in.Spec.ClientConfig.CABundle},
		NamespaceSelector: in.Spec.NamespaceSelector,
		Settings:          in.Spec.Settings,
	}
	if s := in.Spec.ClientConfig.Service; s.IsSet() {
		out.Spec.ClientConfig.Service = &ServiceReference{Namespace: s.Namespace, Name: s.Name, Path: unlessZero(s.Path), Port: s.Port}
	}
	for _, h := range in.Status.Handlers {
		out.Status.Handlers = append(out.Status.Handlers, ExtensionHandler{
			Name: h.Name, RequestHook: h.RequestHook,
			TimeoutSeconds: unlessZero(h.TimeoutSeconds), FailurePolicy: unlessZero(h.FailurePolicy),
		})
	}
	if in.Status.Conditions != nil {
		out.Status.V1Beta2 = &ExtensionConfigV1Beta2Status{Conditions: in.Status.Conditions}
	}
	if d := in.Status.Deprecated; d != nil && d.V1Beta1 != nil {
		out.Status.Conditions = d.V1Beta1.Conditions
	}
	return out
}

func unlessZero[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
