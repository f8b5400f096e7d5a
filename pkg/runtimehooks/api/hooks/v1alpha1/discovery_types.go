package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
)

// Limits of the timeout of a handler, in seconds.
const (
	DefaultTimeoutSeconds int32 = 10
	MinTimeoutSeconds     int32 = 1
	MaxTimeoutSeconds     int32 = 30
)

// DiscoveryRequest is the request of Discovery.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type DiscoveryRequest struct {
	metav1.TypeMeta `json:",inline"`
}

// DiscoveryResponse is the response of Discovery.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type DiscoveryResponse struct {
	metav1.TypeMeta `json:",inline"`
	CommonResponse  `json:",inline"`

	// handlers are all handlers of the extension.
	// +listType=map
	// +listMapKey=name
	// +optional
	Handlers []ExtensionHandler `json:"handlers,omitempty"`
}

// ExtensionHandler is a handler of an extension, for one version of one hook.
type ExtensionHandler struct {
	// name is a DNS label that no other handler of the extension has.
	// +required
	Name string `json:"name"`

	// requestHook is the hook version that the handler implements.
	// +required
	RequestHook GroupVersionHook `json:"requestHook"`

	// timeoutSeconds is how long a caller waits for an answer, from 1 to 30. The default is 10.
	// +optional
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// failurePolicy says what a failed call means to the caller. The default is Fail.
	// +optional
	FailurePolicy *FailurePolicy `json:"failurePolicy,omitempty"`
}

// GroupVersionHook names a hook version.
type GroupVersionHook struct {
	// apiVersion is the group and the version of the hook.
	// +required
	APIVersion string `json:"apiVersion"`

	// hook is the name of the hook.
	// +required
	Hook string `json:"hook"`
}

// ReferenceTo names a hook version of a catalog.
func ReferenceTo(hook catalog.GroupVersionHook) GroupVersionHook {
	return GroupVersionHook{APIVersion: hook.GroupVersion().String(), Hook: hook.Hook}
}

// Parse returns the name that a catalog has for the hook version.
func (h GroupVersionHook) Parse() (catalog.GroupVersionHook, error) {
	gv, err := schema.ParseGroupVersion(h.APIVersion)
	if err != nil {
		return catalog.GroupVersionHook{}, err
	}
	return catalog.GroupVersionHook{Group: gv.Group, Version: gv.Version, Hook: h.Hook}, nil
}

// FailurePolicy says what the error of a call means: a connection that fails, a timeout, or an answer that is none. An
// answer with the status Failure is an answer, and fails under either policy.
// +enum
type FailurePolicy string

const (
	// FailurePolicyFail makes the error of a call fail the operation.
	FailurePolicyFail FailurePolicy = "Fail"
	// FailurePolicyIgnore makes a failed call count as a success.
	FailurePolicyIgnore FailurePolicy = "Ignore"
)

// Discovery is the hook by which an extension tells which handlers it has.
func Discovery(*DiscoveryRequest, *DiscoveryResponse) {}
