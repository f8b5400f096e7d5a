package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
)

// GroupVersion returns the group version of this package.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: v1beta2.Group, Version: "v1alpha1"}
}

// ExtensionConfig registers an extension.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ExtensionConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ExtensionConfigSpec   `json:"spec,omitempty"`
	Status ExtensionConfigStatus `json:"status,omitempty"`
}

// ExtensionConfigSpec says how to reach an extension, and for which objects it is called.
type ExtensionConfigSpec struct {
	ClientConfig      ClientConfig          `json:"clientConfig"`
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	Settings          map[string]string     `json:"settings,omitempty"`
}

// ClientConfig says how to reach an extension. Unlike in v1beta2, an unset URL or Service is nil.
type ClientConfig struct {
	URL      *string           `json:"url,omitempty"`
	Service  *ServiceReference `json:"service,omitempty"`
	CABundle []byte            `json:"caBundle,omitempty"`
}

// ServiceReference names a port of a service, and a prefix of the URL path.
type ServiceReference struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Path      *string `json:"path,omitempty"`
	Port      *int32  `json:"port,omitempty"`
}

// ExtensionConfigStatus has the handlers of an extension, and the conditions of its ExtensionConfig. Conditions have
// the form that Cluster API used before metav1.Condition. V1Beta2 has the conditions in the form of v1beta2.
type ExtensionConfigStatus struct {
	Handlers   []ExtensionHandler            `json:"handlers,omitempty"`
	Conditions []v1beta2.LegacyCondition     `json:"conditions,omitempty"`
	V1Beta2    *ExtensionConfigV1Beta2Status `json:"v1beta2,omitempty"`
}

// ExtensionConfigV1Beta2Status has the conditions in the form of v1beta2.
type ExtensionConfigV1Beta2Status struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ExtensionHandler is a handler from the answer of an extension to Discovery.
type ExtensionHandler struct {
	Name           string                   `json:"name"`
	RequestHook    v1beta2.GroupVersionHook `json:"requestHook"`
	TimeoutSeconds *int32                   `json:"timeoutSeconds,omitempty"`
	FailurePolicy  *v1beta2.FailurePolicy   `json:"failurePolicy,omitempty"`
}
