package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Annotations of an ExtensionConfig.
const (
	// InjectCAFromSecretAnnotation names a Secret as NAMESPACE/NAME. The value of ca.crt in that Secret becomes the
	// caBundle of the ExtensionConfig.
	InjectCAFromSecretAnnotation = "runtime.cluster.x-k8s.io/inject-ca-from-secret"
	// PausedAnnotation pauses an ExtensionConfig: the controller doesn't call Discovery. The annotation may have
	// any value.
	PausedAnnotation = "cluster.x-k8s.io/paused"
)

// Conditions of an ExtensionConfig, and their reasons.
const (
	// DiscoveredCondition is true if the handlers in the status are from the extension's last answer to Discovery.
	DiscoveredCondition = "Discovered"
	// DiscoveredReason and NotDiscoveredReason are the reasons of DiscoveredCondition.
	DiscoveredReason    = "Discovered"
	NotDiscoveredReason = "NotDiscovered"

	// PausedCondition is true if the ExtensionConfig has the PausedAnnotation.
	PausedCondition = "Paused"
	// PausedReason and NotPausedReason are the reasons of PausedCondition.
	PausedReason    = "Paused"
	NotPausedReason = "NotPaused"

	// DeprecatedHooksCondition is true if a handler implements a deprecated version of a hook. An ExtensionConfig
	// without such a handler doesn't have the condition. Cluster API doesn't set this condition.
	DeprecatedHooksCondition = "DeprecatedHooks"
	// DeprecatedHooksReason is the reason of DeprecatedHooksCondition.
	DeprecatedHooksReason = "DeprecatedHookVersion"
)

// DefaultServicePort is the port of a service if ServiceReference.Port isn't set.
const DefaultServicePort int32 = 443

// ExtensionConfig registers an extension. A controller of ExtensionConfigs calls the extension's hook Discovery, and
// writes the answer into the status.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ExtensionConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says how to reach the extension, and for which objects it is called.
	Spec ExtensionConfigSpec `json:"spec,omitempty,omitzero"`
	// Status has the conditions of the ExtensionConfig, and the handlers of the extension.
	Status ExtensionConfigStatus `json:"status,omitempty,omitzero"`
}

// ExtensionConfigList is a list of ExtensionConfigs.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ExtensionConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ExtensionConfig `json:"items"`
}

// ExtensionConfigSpec says how to reach an extension, and for which objects it is called.
type ExtensionConfigSpec struct {
	// ClientConfig says how to reach the extension.
	ClientConfig ClientConfig `json:"clientConfig,omitempty,omitzero"`
	// NamespaceSelector selects namespaces by their labels. The extension is called for objects in these
	// namespaces. By default, it is called for all objects.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// Settings are passed to all handlers, in each request. If the caller has a setting with the same key, the
	// caller's value counts.
	Settings map[string]string `json:"settings,omitempty"`
}

// ClientConfig says how to reach an extension. Either URL or Service is set.
type ClientConfig struct {
	// URL is the URL of the extension, in the form https://HOST[:PORT][/PREFIX].
	URL string `json:"url,omitempty"`
	// Service is the service of an extension that runs in the cluster.
	Service ServiceReference `json:"service,omitempty,omitzero"`
	// CABundle has certificate authorities, in PEM. One of them must have issued the extension's certificate. If
	// CABundle isn't set, the system's certificate authorities are used.
	CABundle []byte `json:"caBundle,omitempty"`
}

// ServiceReference names a port of a service, and a prefix of the URL path.
type ServiceReference struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Path is a prefix of the URL path of each hook.
	Path string `json:"path,omitempty"`
	// Port is a port of the service. The default is 443.
	Port *int32 `json:"port,omitempty"`
}

// IsSet reports whether the reference names a service.
func (r ServiceReference) IsSet() bool { return r != ServiceReference{} }

// ExtensionConfigStatus has the conditions of an ExtensionConfig, and the handlers of the extension.
type ExtensionConfigStatus struct {
	// Conditions are Discovered and Paused, and DeprecatedHooks if a handler implements a deprecated version of a
	// hook.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Handlers are the handlers of the extension's last valid answer to Discovery.
	Handlers []ExtensionHandler `json:"handlers,omitempty"`
	// Deprecated has the conditions in the form of v1alpha1.
	Deprecated *ExtensionConfigDeprecatedStatus `json:"deprecated,omitempty"`
}

// ExtensionConfigDeprecatedStatus has status fields of older versions.
type ExtensionConfigDeprecatedStatus struct {
	V1Beta1 *ExtensionConfigV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// ExtensionConfigV1Beta1DeprecatedStatus has the conditions in the form of v1alpha1.
type ExtensionConfigV1Beta1DeprecatedStatus struct {
	Conditions []LegacyCondition `json:"conditions,omitempty"`
}

// LegacyCondition is a condition in the form that Cluster API used before metav1.Condition.
type LegacyCondition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	Severity           string                 `json:"severity,omitempty"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitempty,omitzero"`
	Reason             string                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
}

// ExtensionHandler is a handler from the answer of an extension to Discovery.
type ExtensionHandler struct {
	// Name is HANDLER.CONFIG: the name of the handler in the extension, and the name of the ExtensionConfig. It is
	// unique on the server.
	Name string `json:"name,omitempty"`
	// RequestHook is the hook version that the handler implements.
	RequestHook GroupVersionHook `json:"requestHook,omitempty,omitzero"`
	// TimeoutSeconds is the time for which a caller waits for an answer.
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
	// FailurePolicy says whether a failed call is an error for the caller.
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`
}

// GroupVersionHook names a hook version.
type GroupVersionHook struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Hook       string `json:"hook,omitempty"`
}

// FailurePolicy says whether a failed call is an error for the caller: Fail or Ignore.
type FailurePolicy string

// The failure policies.
const (
	FailurePolicyFail   FailurePolicy = "Fail"
	FailurePolicyIgnore FailurePolicy = "Ignore"
)
