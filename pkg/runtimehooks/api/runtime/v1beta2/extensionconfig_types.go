package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Annotations of an ExtensionConfig.
const (
	// InjectCAFromSecretAnnotation names a Secret as NAMESPACE/NAME. The caBundle is then the Secret's ca.crt.
	InjectCAFromSecretAnnotation = "runtime.cluster.x-k8s.io/inject-ca-from-secret"
	// PausedAnnotation, with any value, keeps an ExtensionConfig from being discovered.
	PausedAnnotation = "cluster.x-k8s.io/paused"
)

// Conditions of an ExtensionConfig, and their reasons.
const (
	// DiscoveredCondition is true if the handlers in the status are those of the extension's last answer.
	DiscoveredCondition = "Discovered"
	// DiscoveredReason and NotDiscoveredReason are the reasons of DiscoveredCondition.
	DiscoveredReason    = "Discovered"
	NotDiscoveredReason = "NotDiscovered"

	// PausedCondition is true if the ExtensionConfig has the PausedAnnotation.
	PausedCondition = "Paused"
	// PausedReason and NotPausedReason are the reasons of PausedCondition.
	PausedReason    = "Paused"
	NotPausedReason = "NotPaused"

	// DeprecatedHooksCondition is true if a handler implements a hook version that is deprecated. An ExtensionConfig
	// without such a handler lacks the condition. Cluster API doesn't have it.
	DeprecatedHooksCondition = "DeprecatedHooks"
	// DeprecatedHooksReason is the reason of DeprecatedHooksCondition.
	DeprecatedHooksReason = "DeprecatedHookVersion"
)

// DefaultServicePort is the port of a service that a client config doesn't give a port.
const DefaultServicePort int32 = 443

// ExtensionConfig registers an extension. The API server that has it calls the extension's Discovery, and keeps what the
// extension answers in the status.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ExtensionConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says where the extension is, and for which objects it is called.
	Spec ExtensionConfigSpec `json:"spec,omitempty,omitzero"`
	// Status has the handlers of the extension.
	Status ExtensionConfigStatus `json:"status,omitempty,omitzero"`
}

// ExtensionConfigList is a list of ExtensionConfigs.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ExtensionConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ExtensionConfig `json:"items"`
}

// ExtensionConfigSpec says where an extension is, and for which objects it is called.
type ExtensionConfigSpec struct {
	// ClientConfig says where the extension is.
	ClientConfig ClientConfig `json:"clientConfig,omitempty,omitzero"`
	// NamespaceSelector selects the namespaces for whose objects the extension is called. The default is all.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// Settings are passed to all handlers in each request. Those of a caller count over them.
	Settings map[string]string `json:"settings,omitempty"`
}

// ClientConfig says where an extension is: either URL or Service is set.
type ClientConfig struct {
	// URL is https://HOST[:PORT][/PREFIX].
	URL string `json:"url,omitempty"`
	// Service is the service of an extension in the cluster.
	Service ServiceReference `json:"service,omitempty,omitzero"`
	// CABundle is PEM. The extension's certificate must be of one of its authorities. Without it, the system's count.
	CABundle []byte `json:"caBundle,omitempty"`
}

// ServiceReference names a port of a service.
type ServiceReference struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Path comes before the path of each hook.
	Path string `json:"path,omitempty"`
	// Port is a port of the service. The default is 443.
	Port *int32 `json:"port,omitempty"`
}

// IsSet tells whether the reference names anything.
func (r ServiceReference) IsSet() bool { return r != ServiceReference{} }

// ExtensionConfigStatus has the handlers of an extension.
type ExtensionConfigStatus struct {
	// Conditions are Discovered, Paused and, if there is a reason, DeprecatedHooks.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Handlers are the handlers of the last answer to Discovery that was valid.
	Handlers []ExtensionHandler `json:"handlers,omitempty"`
	// Deprecated has what v1alpha1 shows in other fields.
	Deprecated *ExtensionConfigDeprecatedStatus `json:"deprecated,omitempty"`
}

// ExtensionConfigDeprecatedStatus has what older versions show in other fields.
type ExtensionConfigDeprecatedStatus struct {
	V1Beta1 *ExtensionConfigV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// ExtensionConfigV1Beta1DeprecatedStatus has the conditions of v1alpha1.
type ExtensionConfigV1Beta1DeprecatedStatus struct {
	Conditions []LegacyCondition `json:"conditions,omitempty"`
}

// LegacyCondition is a condition in the form that Cluster API had before metav1.Condition.
type LegacyCondition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	Severity           string                 `json:"severity,omitempty"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitempty,omitzero"`
	Reason             string                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
}

// ExtensionHandler is a handler that discovery has found.
type ExtensionHandler struct {
	// Name is HANDLER.CONFIG, which no other handler has: the name in the extension, and that of the ExtensionConfig.
	Name string `json:"name,omitempty"`
	// RequestHook is the hook version that the handler implements.
	RequestHook GroupVersionHook `json:"requestHook,omitempty,omitzero"`
	// TimeoutSeconds is how long a call takes at most.
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
	// FailurePolicy says what a failed call means.
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`
}

// GroupVersionHook names a hook version.
type GroupVersionHook struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Hook       string `json:"hook,omitempty"`
}

// FailurePolicy says what a failed call means: Fail or Ignore.
type FailurePolicy string

// The failure policies.
const (
	FailurePolicyFail   FailurePolicy = "Fail"
	FailurePolicyIgnore FailurePolicy = "Ignore"
)
